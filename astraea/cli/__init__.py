"""The command line: commands, and the arguments that they share."""
