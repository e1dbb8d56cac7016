"""ASTRAEA and the schedulers it is compared with, on a cluster with one type of GPU."""
