"""The command line: the commands and their shared arguments."""
