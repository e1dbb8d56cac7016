"""What Slurm writes: logs, settings, and the words in them."""
