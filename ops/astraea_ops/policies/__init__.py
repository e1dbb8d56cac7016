"""Schedulers of real clusters: Slurm, KAI and Kueue."""
