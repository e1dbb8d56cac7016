"""Workloads: what a trace is, readers of public formats, synthetic traces, downloads."""
