"""Fair schedulers for deep-learning GPU clusters: understand, reproduce, compare."""

__version__ = "0.1.0"
