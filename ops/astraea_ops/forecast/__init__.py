"""Forecasts of a job's start: simulations of the current queue under the cluster's own scheduler."""
