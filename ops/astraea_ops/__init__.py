"""Your own GPU cluster: an audit of its log, forecasts, and leases on Slurm, with the schedulers of `astraea`."""

__version__ = "0.1.0"
