"""A simulation in the form that ``sacct -P`` prints.

``python slurm_logs.py FILE JOBS`` writes a large log, ``python slurm_logs.py FILE two-years`` one of two years and 40
accounts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.synthetic import synthesize
from astraea.traces.trace import Trace

HEAD = "JobID|Account|User|Partition|QOS|Submit|Eligible|Start|End|State|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES"
ORIGIN = np.datetime64("2026-03-01T00:00:00")
STATES = {"completed": "COMPLETED", "cancelled": "CANCELLED by 1000", "failed": "FAILED", "unknown": "COMPLETED"}


def in_seconds(trace: Trace) -> Trace:
    """The same jobs in whole seconds, as Slurm writes them."""
    frame = trace.frame.assign(
        submit_time=np.floor(trace.submit_time), duration=np.maximum(np.round(trace.duration), 1.0)
    )
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    return Trace.from_frame(frame, name=trace.name, weights=weights)


def played(trace: Trace, cluster: Cluster) -> Result:
    """First come, first served, in rounds of a second."""
    return simulate(trace, cluster, "fifo", settings=Settings(interval=1.0))


def sacct(trace: Trace, result: Result, first: int = 1) -> str:
    """The log of a result without preemption; jobs are numbered from `first` on in order of submission."""
    jobs = result.jobs
    rows = trace.frame.set_index("job_id").loc[jobs["job_id"]]
    stamps = {
        name: np.datetime_as_string(ORIGIN + jobs[column].to_numpy().astype("timedelta64[s]"))
        for name, column in (("submit", "submit_time"), ("start", "first_start_time"), ("end", "end_time"))
    }
    nodes = -(-jobs["demand"] // 8)
    tres = "billing=1,cpu=1,gres/gpu=" + jobs["demand"].astype(str) + ",node=" + nodes.astype(str)
    table = pd.DataFrame(
        {
            "JobID": np.arange(first, first + len(jobs)).astype(str), "Account": jobs["tenant"],
            "User": jobs["user"], "Partition": "gpu", "QOS": "normal", "Submit": stamps["submit"],
            "Eligible": stamps["submit"], "Start": stamps["start"], "End": stamps["end"],
            "State": rows["state"].map(STATES).to_numpy(),
            "ElapsedRaw": (jobs["end_time"] - jobs["first_start_time"]).astype(int).astype(str),
            "TimelimitRaw": "UNLIMITED", "ReqTRES": tres, "AllocTRES": tres,
        }
    )  # fmt: skip
    return table[HEAD.split("|")].to_csv(sep="|", index=False, lineterminator="\n")


def large(number: int) -> tuple[Trace, Cluster]:
    """Months of synthetic Venus, one after the other, on its 100 nodes."""
    month = synthesize("venus")
    copies = -(-number // len(month))
    period = np.ceil(month.span / 86_400) * 86_400
    parts = [
        month.frame.assign(job_id=f"{k}-" + month.frame["job_id"], submit_time=month.submit_time + k * period)
        for k in range(copies)
    ]
    return in_seconds(Trace.from_frame(pd.concat(parts, ignore_index=True)).head(number)), Cluster(100)


def two_years(number: int = 20_000, accounts: int = 40) -> tuple[Trace, Cluster]:
    """Jobs of many accounts, some with long names, over two years on 24 nodes; ten have most of the work and shares."""
    rng = np.random.default_rng(40)
    places = ("physics", "computational-biology-and-medicine", "nlp", "vision & robotics", "climate", "économie")
    names = [f"{places[k % len(places)]}-{k:02d}" for k in range(accounts)]
    part = 1 / np.arange(1, accounts + 1)
    who = rng.choice(accounts, number, p=part / part.sum())
    submit = np.sort(rng.uniform(0, 730 * 86_400, number))
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(number), "tenant": np.array(names)[who],
            "user": [f"u{k % 3}-of-{names[k]}" for k in who],
            "demand": np.where(who < 10, rng.choice([1, 2, 4, 8], number), rng.choice([1, 2], number)),
            "submit_time": submit, "duration": np.clip(rng.lognormal(np.log(100_000), 1.2, number), 60, 7 * 86_400),
        }
    )  # fmt: skip
    # every year's first two months are quiet
    kept = rng.uniform(size=number) < np.where((submit // 86_400) % 365 < 60, 0.5, 1.0)
    weights = {name: 4.0 if k < 10 else 1.0 for k, name in enumerate(names)}
    return in_seconds(Trace.from_frame(jobs[kept], weights=weights)), Cluster(24)


if __name__ == "__main__":
    log = two_years() if sys.argv[2] == "two-years" else large(int(sys.argv[2]))
    Path(sys.argv[1]).write_text(sacct(log[0], played(*log)))
