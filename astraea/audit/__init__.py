"""Audit of a cluster's own log: who got their share, who waited and why, and what other schedulers would have done."""
