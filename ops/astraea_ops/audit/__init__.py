"""Audit of a cluster's own log: the GPU-time of tenants, causes of waits, and the same jobs under other schedulers."""
