"""Estimates of running times, for the schedulers that need them: known, noisy, or learned from a history."""
