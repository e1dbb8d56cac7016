"""A queue at one moment, with the job in question, and only what is known at that moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.forecast.wish import Wish
from astraea.traces.readers.slurm import WAITS
from astraea.traces.slurm_words import hosts_of
from astraea.traces.trace import Trace

COLUMNS: Final = ["job_id", "tenant", "user", "demand", "time_limit", "row"]

ASKED: Final = "the job that is asked about"
"""Name of the job in question in a trace."""

Held = list[tuple[int, int]]
"""GPUs that a job holds: pairs of a node and a number of its GPUs; empty if the nodes are unknown."""


class Moment(NamedTuple):
    """A queue; its tables have a row per job with the columns `COLUMNS` [GPU, s]; `row` is the row in `rules`.

    Times in the tables count from the moment.
    """

    time: float  #: the moment, on its own clock [s] ...
    origin: pd.Timestamp | None  #: ... whose second 0 is at this date, in local time; None without dates
    cluster: Cluster
    policy: Policy  #: the cluster's scheduler, with its clocks set to the moment
    rules: Rules
    weights: dict[str, float]  #: of the tenants
    running: pd.DataFrame  #: with `elapsed` [s] and `held`, of `Held`
    waiting: pd.DataFrame  #: with `waited` [s] and `submit_time`, in order of submission
    past: pd.DataFrame  #: earlier jobs; with `submit_time` and `duration`, NaN if unknown [s]
    asked: pd.DataFrame  #: one row: the job in question

    @property
    def free(self) -> int:
        """GPUs that no job holds [GPU]."""
        return self.cluster.gpus - int(self.running["demand"].sum())


def moment_of(
    trace: Trace, runs: pd.DataFrame, asked: str, cluster: Cluster, policy: Policy, rules: Rules, now: float
) -> Moment:
    """Return the queue of a log at some time [s].

    `runs` are those of `recorded_runs`; jobs without a run are waiting. `asked` is the job in question, whose own run
    is ignored, and `rules` are those of the trace.
    """
    job = pd.Index(trace.job_id).get_indexer(pd.Index(runs["job_id"]))
    start, end = runs["start"].to_numpy(dtype=float), runs["end"].to_numpy(dtype=float)
    final = end.max()
    goes_on = (end > now) | ((end == final) & (now >= final) & (trace.state[job] == "unknown"))
    jobs = trace.frame.assign(row=np.arange(len(trace)), submit_time=trace.submit_time - now)
    jobs = jobs[[*COLUMNS, "submit_time"]]
    others = trace.job_id != asked
    active = (start < now) & goes_on & others[job]
    running = jobs.iloc[job[active]].assign(elapsed=now - start[active])
    begun, duration = np.zeros(len(trace), np.bool_), np.full(len(trace), np.nan)
    begun[job[start < now]] = True
    duration[job[~goes_on]] = (end - start)[~goes_on]  # the last of several runs
    came = (trace.submit_time < now) & others
    waiting = jobs[came & ~begun]
    decay, period = np.log(2) / policy.parameters["half_life"], policy.parameters["calc_period"]
    last = now - (now - policy.parameters["calc_offset"]) % period  # when Slurm last computed usage, by which it ranks
    used = np.exp(-decay * (last - np.minimum(end, last))) - np.exp(-decay * (last - np.minimum(start, last)))
    usage = np.bincount(rules.association[job], rules.charge[job] / decay * used, len(rules.parent))
    return Moment(
        time=now,
        origin=trace.origin,
        cluster=cluster,
        policy=policy(
            calc_offset=(policy.parameters["calc_offset"] - now) % period,
            clock_offset=policy.parameters["clock_offset"] + now,
        ),
        rules=rules._replace(usage=usage + rules.usage * np.exp(-decay * last)),
        weights=dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True)),
        running=running.assign(held=_held(trace, running, cluster)).reset_index(drop=True),
        waiting=waiting.assign(waited=-waiting["submit_time"]).reset_index(drop=True),
        past=jobs.assign(duration=duration)[came].reset_index(drop=True),
        asked=jobs[~others].reset_index(drop=True),
    )  # fmt: skip


def with_asked(trace: Trace, now: float, wish: Wish) -> Trace:
    """Return the log plus the job in question, submitted at some time, and the jobs still waiting at its end.

    Its other requests are those of the last earlier job of the same tenant, and user if there is one.
    """
    still = trace.excluded_jobs.reindex(columns=[*COLUMNS[:-1], "submit_time", "reason"])
    still = still[(still["reason"] == WAITS) & (still["demand"] > 0) & still["tenant"].isin(trace.tenants)]
    user = wish.user or wish.account
    asked = {"job_id": ASKED, "tenant": wish.account, "user": user, "demand": wish.gpus, "time_limit": wish.time}
    more = pd.concat([still.drop(columns="reason"), pd.DataFrame([{**asked, "submit_time": now}])], ignore_index=True)
    more = more.astype({"demand": np.int64, "time_limit": float, "submit_time": float})
    more["user"] = more["user"].fillna(more["tenant"])
    details = None
    if trace.details is not None:
        like = [_last(trace, *row) for row in zip(more["tenant"], more["user"], more["submit_time"], strict=True)]
        ratio = more["demand"].to_numpy(dtype=float) / trace.demand[like]
        others = trace.details.iloc[like].astype(object).reset_index(drop=True)
        scaled = {name: others[name] * ratio for name in ("cpus", "memory")}
        others = others.assign(node_list="", nodes=np.nan, gpus=more["demand"], **scaled)
        if wish.partition:
            others.loc[len(others) - 1, "partition"] = wish.partition
        details = pd.concat([trace.details.astype(object), others], ignore_index=True)
    more = more.assign(duration=1.0, state="unknown", weight=1.0, sensitivity=1.0)
    return Trace.from_frame(
        pd.concat([trace.frame, more], ignore_index=True),
        name=trace.name, weights=dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True)),
        origin=trace.origin, details=details,
    )  # fmt: skip


def _last(trace: Trace, tenant: str, user: str, before: float) -> int:
    """Return the row of the tenant's last job before some time, preferably of the same user; else the first row."""
    mine = trace.tenant == trace.tenants.index(tenant)
    for good in (mine & (trace.user == user), mine):
        rows = np.flatnonzero(good & (trace.submit_time <= before))
        if len(rows):
            return int(rows[-1])
    return int(np.flatnonzero(mine)[0]) if mine.any() else 0


def _held(trace: Trace, running: pd.DataFrame, cluster: Cluster) -> list[Held]:
    """Return nodes and GPUs of the running jobs from the log's lists of nodes; empty if those lists cannot be right."""
    unknown: list[Held] = [[] for _ in range(len(running))]
    if trace.details is None:
        return unknown
    every = sorted({host for text in set(trace.details["node_list"]) for host in hosts_of(text)})
    lists = [hosts_of(text) for text in trace.details["node_list"].iloc[running["row"]]]
    if len(every) > cluster.nodes or cluster.sizes or not all(lists):
        return unknown
    place = {host: k for k, host in enumerate(every)}
    return shares([[place[host] for host in hosts] for hosts in lists], running["demand"].tolist(), cluster) or unknown


def shares(nodes: list[list[int]], demand: list[int], cluster: Cluster) -> list[Held]:
    """Divide gangs over their nodes, equally, with the rest on the last; return [] if a node gets too many GPUs."""
    used, found = np.zeros(cluster.nodes, np.int64), []
    for mine, gpus in zip(nodes, demand, strict=True):
        each = -(-gpus // len(mine))
        parts = [(node, min(each, gpus - k * each)) for k, node in enumerate(mine) if gpus > k * each]
        for node, part in parts:
            used[node] += part
        found.append(parts)
    return found if (used <= cluster.node_gpus).all() else []


def end_of(trace: Trace, runs: pd.DataFrame) -> float:
    """Return the end of a log [s]."""
    still = trace.excluded_jobs.reindex(columns=["reason", "submit_time"])
    waits = still.loc[still["reason"] == WAITS, "submit_time"].to_numpy(dtype=float)
    return float(max(runs["end"].max(), trace.submit_time.max(), waits.max(initial=0.0)))


def seconds_of(trace: Trace, at: pd.Timestamp | None) -> float:
    """Return a moment on the log's clock [s], by default the log's end; `InputError` if it is outside the log."""
    last = end_of(trace, recorded_runs(trace))
    if at is None:
        return last
    if trace.origin is None:
        raise InputError(f"{trace.name}: at={at.isoformat()} needs a log with dates")
    now = float((at - trace.origin.tz_localize(None)).total_seconds())
    if not 0 <= now <= last:
        first, final = clock(trace.origin, 0.0), clock(trace.origin, last)
        raise InputError(f"{trace.name}: at must be within the log, from {first} to {final}, got {clock(at, 0.0)}")
    return now


def clock(origin: pd.Timestamp | None, seconds: float) -> str:
    """Return a time on a clock as text."""
    if origin is None:
        return f"second {seconds:,.0f}"
    return (origin + pd.Timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def tenant_of(known: Sequence[str], account: str, name: str) -> str:
    """Return the requested tenant, or the only one if none is given; `InputError` otherwise."""
    if account in known:
        return account
    if not account and len(known) == 1:
        return known[0]
    listed = ", ".join(map(printable, known[:20])) + (", ..." if len(known) > 20 else "")
    got = f"got {printable(account)!r}" if account else "none is given"
    raise InputError(f"{name}: account must be one of {listed}; {got}")

