"""ASTRAEA and the schedulers with which it is compared, on a cluster with one type of GPU."""
