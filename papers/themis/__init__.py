"""Themis [Mahajan2020]: apps of many jobs, whose agents bid for GPUs by what these do for finish-time fairness."""
