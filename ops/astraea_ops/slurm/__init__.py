"""Texts that Slurm writes: logs, settings, and the words in them."""
