"""The coordinator on a real Slurm, beside a simulation of the same jobs."""
