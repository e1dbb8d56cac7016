"""A queue at one moment, with the job in question, ``gpus=8,account=vision,time=4h``, and only what is known then."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules, no_rules
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import DAY, MINUTE
from astraea.core.wording import SECONDS
from astraea.traces.columns import MAX_DEMAND
from astraea.traces.trace import Trace
from astraea_ops.site.rules import rules
from astraea_ops.site.site import Site
from astraea_ops.slurm.conf import seconds as slurm_seconds
from astraea_ops.slurm.jobs import WAITS
from astraea_ops.slurm.words import hosts_of

COLUMNS: Final = ["job_id", "tenant", "user", "demand", "time_limit", "row"]

ASKED: Final = "the job that is asked about"
"""Name of the job in question in a trace."""

Held = list[tuple[int, int]]
"""GPUs that a job holds: pairs of a node and a number of its GPUs; empty if the nodes are unknown."""


class Wish(NamedTuple):
    """Requests of a job."""

    gpus: int
    account: str = ""  #: empty if not given
    user: str = ""
    partition: str = ""
    time: float = float("nan")  #: its time limit [s], NaN if none
    at: pd.Timestamp | None = None  #: time of submission; None for the end of the log, or now


def wish(text: str) -> Wish:
    """Parse a job, or raise `InputError` with the part that cannot be read."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (equals and value) or name not in _READ:
            known = ", ".join(f"{known}=..." for known in _READ)
            raise InputError(f"a job: expected {known}, separated by commas, got {printable(part)!r}")
        if name in found:
            raise InputError(f"a job: {name} is given twice")
        found[name] = _READ[name](value)
    if "gpus" not in found:
        raise InputError(f"a job: gpus=... is missing in {printable(text)!r}")
    return Wish(**found)


def _gpus(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_DEMAND) or len(text) > 9:
        raise InputError(f"a job: gpus must be a whole number from 1 to {MAX_DEMAND}, got {printable(text)!r}")
    return int(text)


def _seconds(text: str) -> float:
    """Parse a time limit as people write it, or as `sbatch` accepts it: a plain number is minutes."""
    seconds = 0.0
    if short := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|min|h|d)", text, re.ASCII):
        seconds = float(short[1]) * (SECONDS | {"m": MINUTE})[short[2]]
    else:
        with suppress(InputError):
            seconds = slurm_seconds(text, "a job: time")
    if not 0 < seconds <= 10 * 365 * DAY:
        expected = "a time such as 90m, 4h, 2d, or Slurm's minutes, hours:minutes:seconds and days-hours"
        raise InputError(f"a job: time must be {expected}, got {printable(text)!r}")
    return seconds


def _moment(text: str) -> pd.Timestamp:
    found = pd.to_datetime(text, format="ISO8601", errors="coerce")
    if pd.isna(found):
        raise InputError(f"a job: at must be a time YYYY-MM-DDTHH:MM:SS, got {printable(text)!r}")
    return found.tz_localize(None)


_READ: Final[dict[str, Callable[[str], Any]]] = {
    "gpus": _gpus, "account": str, "time": _seconds, "user": str, "partition": str, "at": _moment,
}  # fmt: skip


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


def still_waiting(trace: Trace) -> pd.DataFrame:
    """Return the rows of `Trace.excluded_jobs` of jobs that are still waiting at the end of a log [GPU, s]."""
    aside = trace.excluded_jobs.reindex(columns=[*COLUMNS[:-1], "submit_time", "reason"])
    still = aside[aside["reason"] == WAITS].drop(columns="reason")
    return still.astype({"demand": np.int64, "time_limit": float, "submit_time": float})


def queue_of(trace: Trace, wished: Wish, cluster: Cluster, policy: Policy, site: Site) -> Moment:
    """Return the queue of a log when a job is submitted; `site` is the known part of the cluster's own settings.

    `InputError` if the log does not have the runs of jobs, does not cover that time, or has no such tenant.
    """
    if wished.partition and wished.partition not in site.partitions:
        known = ", ".join(map(printable, site.partitions)) or "none, because no settings were given (--slurm-conf)"
        raise InputError(f"a job: partition must be one of those known ({known}), got {printable(wished.partition)!r}")
    runs = recorded_runs(trace)
    now = _seconds_of(trace, wished.at, runs)
    account = given_or_only(trace.tenants, wished.account, f"{trace.name}: account")
    queue = _with_asked(trace, now, wished._replace(account=account))
    of_jobs = rules(site, queue, cluster)[0] if site.files or site.classes else no_rules(queue, cluster)
    names = [node.name for node in site.nodes] if site.conf.nodes else []
    return moment_of(queue, runs, ASKED, cluster, policy, of_jobs, now, names)


def moment_of(
    trace: Trace, runs: pd.DataFrame, asked: str, cluster: Cluster, policy: Policy, rules: Rules, now: float,
    names: Sequence[str] = (),
) -> Moment:  # fmt: skip
    """Return the queue of a log at some time [s]; jobs without a run in `runs` (`recorded_runs`) are waiting.

    `asked` is the job in question, whose own run is ignored, and `rules` are those of the trace. `names` are those of
    the cluster's nodes in its order, if they are known.
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
        policy=policy.with_parameters(
            calc_offset=(policy.parameters["calc_offset"] - now) % period,
            clock_offset=policy.parameters["clock_offset"] + now,
        ),
        rules=rules._replace(usage=usage + rules.usage * np.exp(-decay * last)),
        weights=dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True)),
        running=running.assign(held=_held(trace, running, cluster, names)).reset_index(drop=True),
        waiting=waiting.assign(waited=-waiting["submit_time"]).reset_index(drop=True),
        past=jobs.assign(duration=duration)[came].reset_index(drop=True),
        asked=jobs[~others].reset_index(drop=True),
    )  # fmt: skip


def _with_asked(trace: Trace, now: float, wished: Wish) -> Trace:
    """Return the log plus the job in question, submitted at some time, and the jobs still waiting at its end.

    Its other requests are those of the last earlier job of the same tenant, and user if there is one.
    """
    user = wished.user or wished.account
    asked = {"job_id": ASKED, "tenant": wished.account, "user": user, "demand": wished.gpus, "time_limit": wished.time}
    still = still_waiting(trace)
    still = still[still["tenant"].isin(trace.tenants)]
    more = pd.concat([still, pd.DataFrame([{**asked, "submit_time": now}])], ignore_index=True)
    more["user"] = more["user"].fillna(more["tenant"])
    details = None
    if trace.details is not None:
        like = [_last(trace, *row) for row in zip(more["tenant"], more["user"], more["submit_time"], strict=True)]
        ratio = more["demand"].to_numpy(dtype=float) / trace.demand[like]
        others = trace.details.iloc[like].astype(object).reset_index(drop=True)
        scaled = {name: others[name] * ratio for name in ("cpus", "memory")}
        others = others.assign(node_list="", nodes=np.nan, gpus=more["demand"], **scaled)
        if wished.partition:
            others.loc[len(others) - 1, "partition"] = wished.partition
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


def _held(trace: Trace, running: pd.DataFrame, cluster: Cluster, names: Sequence[str]) -> list[Held]:
    """Divide running gangs equally over their nodes, the rest on the last; empty if the log's nodes cannot be right.

    Without `names`, nodes that are alike are numbered as the log names them.
    """
    unknown: list[Held] = [[] for _ in range(len(running))]
    if trace.details is None:
        return unknown
    every = names or sorted({host for text in set(trace.details["node_list"]) for host in hosts_of(text)})
    lists = [hosts_of(text) for text in trace.details["node_list"].iloc[running["row"]]]
    if names:  # a job may have other nodes without GPUs
        lists = [tuple(host for host in hosts if host in set(names)) for hosts in lists]
    if len(every) > cluster.nodes or (cluster.sizes and not names) or not all(lists):
        return unknown
    place, used, found = {host: k for k, host in enumerate(every)}, np.zeros(cluster.nodes, np.int64), []
    for hosts, gpus in zip(lists, running["demand"].tolist(), strict=True):
        each = -(-gpus // len(hosts))
        parts = [(place[host], min(each, gpus - k * each)) for k, host in enumerate(hosts) if gpus > k * each]
        for node, part in parts:
            used[node] += part
        found.append(parts)
    return found if (used <= cluster.node_gpus).all() else unknown


def _seconds_of(trace: Trace, at: pd.Timestamp | None, runs: pd.DataFrame) -> float:
    """Return a moment on the log's clock [s], by default the log's end; `InputError` if it is outside the log."""
    waits = still_waiting(trace)["submit_time"].max()
    last = float(np.nanmax([runs["end"].max(), trace.submit_time.max(), waits]))
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


def given_or_only(known: Sequence[str], given: str, what: str) -> str:
    """Return the given one of some names, or the only one if none is given; `InputError` otherwise."""
    if given in known:
        return given
    if not given and len(known) == 1:
        return known[0]
    listed = ", ".join(map(printable, known[:20])) + (", ..." if len(known) > 20 else "")
    got = f"got {printable(given)!r}" if given else "none is given"
    raise InputError(f"{what} must be one of {listed}; {got}")
