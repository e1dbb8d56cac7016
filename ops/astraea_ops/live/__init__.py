"""ASTRAEA on a real cluster: a coordinator that grants leases to jobs of Slurm."""
