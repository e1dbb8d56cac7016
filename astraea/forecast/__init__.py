"""When a job that is not submitted yet would start: simulations of the queue as it is, under the cluster's scheduler."""
