"""The result of a simulation: tables and their provenance."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any, Final

import pandas as pd

import astraea
from astraea.core import metrics
from astraea.core.frozen import read_only

JOB_COLUMNS: Final = (
    "job_id", "tenant", "demand", "submit_time", "first_start_time", "end_time", "duration", "jct", "queueing_delay",
    "slowdown", "attained_service", "fair_service", "rho_job", "leases", "preemptions", "overhead",
)  # fmt: skip

GRANT_COLUMNS: Final = ("job_id", "demand", "start", "end")
"""Columns of a grant that every system has: the job, its GPUs, and start and end of the grant [s]."""


@read_only
@dataclass(frozen=True, eq=False)
class Result:
    """One simulation.

    Attributes
    ----------
    jobs : DataFrame
        One row per simulated job in trace order: `JOB_COLUMNS` (times in s, service in GPU-s), `user`, and
        `contention`, the average number of active jobs during its life. Undefined ratios are NaN: `rho_job` of a job
        that was owed nothing, and `slowdown` of a job so short that its execution time is zero.
    excluded_jobs : DataFrame, columns job_id, tenant, demand, duration, reason
        Jobs that no policy could ever run; they are not simulated.
    timeline : DataFrame, columns time, tenant, attained_service, fair_service, held, waiting
        At whole hours: GPU-time since second 0 (Eqs. 9, 11), GPUs held, GPUs requested by pending jobs. Hours between
        two hours within which nothing changes may be left out; `metrics.hourly` fills them in.
    grants : DataFrame or None
        One row for each period in which a job, or an app, held GPUs without a break or under one lease:
        `GRANT_COLUMNS`, and columns of one system. `cluster`, only if asked for: tenant, kind (start, restart or
        renewal), nodes (their number). `gavel`: part, 0.5 if the GPUs were shared. `themis`: is_local, true if they
        were on one machine.
    placements : DataFrame or None, columns grant, node, gpus
        Nodes of each grant that is not a renewal (`grant` is its row in `grants`). Only if asked for.
    provenance : dict
        Versions, parameters, trace and source digests: everything needed to reproduce the result byte for byte.
    seconds : float
        Time spent simulating [s]; not part of the result's identity.
    """

    jobs: pd.DataFrame
    excluded_jobs: pd.DataFrame
    timeline: pd.DataFrame
    provenance: dict[str, Any]
    grants: pd.DataFrame | None = None
    placements: pd.DataFrame | None = None
    seconds: float = field(default=0.0)

    @property
    def policy(self) -> str:
        """Name of the scheduler."""
        return str(self.provenance["policy"])

    @property
    def gpus(self) -> int:
        """GPUs of the cluster [GPU]."""
        about = self.provenance
        return sum(about.get("sizes", ())) or int(about["nodes"]) * int(about["gpus_per_node"])

    @property
    def summary(self) -> pd.Series[float]:
        """The measures of the run, with their units in the index, such as ``average JCT [s]`` (`metrics.NAMES`)."""
        return pd.Series(metrics.named(metrics.summary(self)), name=self.policy, dtype=float)

    @property
    def tenants(self) -> pd.DataFrame:
        """Fairness of every tenant over windows of 24 h, one every hour: `metrics.tenant_windows`."""
        return metrics.tenant_windows(self)

    @property
    def log(self) -> pd.DataFrame:
        """`grants` of a run that kept them."""
        assert self.grants is not None, "simulate with keep_log=True"
        return self.grants

    @property
    def makespan(self) -> float:
        """End of the last job on the trace's clock [s]."""
        return float(self.jobs["end_time"].max())


version = cache(metadata.version)  # it reads files


def provenance(inputs: Mapping[str, Any], *packages: str, source: str = "") -> dict[str, Any]:
    """Return the simulated `inputs`, by name, then the software: all that is needed to reproduce the same bytes.

    `source` is the digest of the code that determines the result; `packages` are those whose versions may affect it.
    """
    return {
        **inputs,
        "astraea": astraea.__version__,
        **({"source_sha256": source} if source else {}),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
