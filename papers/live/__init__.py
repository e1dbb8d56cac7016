"""Measurements on a real Slurm beside simulations of the same jobs."""
