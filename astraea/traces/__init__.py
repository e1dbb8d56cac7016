"""Workloads: the trace, readers of public formats, synthetic traces, downloads."""
