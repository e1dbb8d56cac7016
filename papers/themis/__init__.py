"""Themis [Mahajan2020]: apps of many jobs, whose agents bid for GPUs by the finish-time fairness that they give."""
