"""Slurm's own files: logs, settings, and the words in them."""
