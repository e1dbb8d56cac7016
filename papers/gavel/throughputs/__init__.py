"""Throughputs of each kind of job on each accelerator type: tables, measurements, estimates."""
