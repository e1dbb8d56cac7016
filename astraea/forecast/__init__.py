"""Forecasts of when a job would start: simulations of the queue as it is, under the cluster's own scheduler."""
