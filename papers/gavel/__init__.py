"""Gavel: scheduling policies as optimization problems on heterogeneous GPUs ([Narayanan2020])."""
