"""The command line: arguments, commands, and how one is run."""
