"""The queue of a running Slurm plus a job that is not yet submitted, from squeue and scontrol."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules, no_rules
from astraea.core.errors import InputError
from astraea.core.units import DAY
from astraea.traces.readers.table import read_json
from astraea.traces.trace import Trace
from astraea_ops.forecast.moment import ASKED, COLUMNS, Held, Moment, Wish, given_or_only
from astraea_ops.live.answers import FINISHED, ON_GPUS, Job, Node, SlurmError, jobs_of, nodes_of
from astraea_ops.live.partition import Snapshot
from astraea_ops.live.slurm import Slurm

_TURN: Final = ("Resources", "Priority", "None", "")
"""Reasons of jobs that only wait for their turn."""


def ask(days: int = 7) -> tuple[Snapshot, str]:
    """Query the Slurm of this machine, and its accounting for the last days; `InputError` if one of them fails."""
    try:
        names = {place.partition for place in Slurm("").places() if place.has_gpus}
        slurm = Slurm(",".join(sorted(names)))
        jobs, nodes, now = slurm.jobs(), slurm.nodes(), time.time()
        return Snapshot(now, jobs, nodes), slurm.history(now - days * DAY)
    except SlurmError as err:
        raise InputError(str(err)) from None


def read(jobs: Path, nodes: Path) -> Snapshot:
    """Read ``squeue --json --states=all`` and ``scontrol show nodes --json``; their latest time counts as now."""
    try:
        found = jobs_of(read_json(jobs))
    except SlurmError as err:
        raise InputError(f"{jobs}: {err}") from None
    answer = read_json(nodes)
    try:
        names = {str(name) for entry in answer["nodes"] for name in entry["partitions"]}
        there = nodes_of(answer, ",".join(names))
    except (SlurmError, LookupError, TypeError) as err:
        raise InputError(f"{nodes}: expected the output of scontrol show nodes or sinfo --json ({err})") from None
    began = (max(job.submit, job.start) for job in found if job.state in (*ON_GPUS, *FINISHED))
    return Snapshot(max(began, default=0.0), found, there)


def queue_now(answers: Snapshot, wish: Wish, policy: Policy, history: Trace | None = None) -> Moment:
    """Return the queue as Slurm showed it, without jobs that are held or wait for anything but their turn.

    Priorities do not change. `history` is a log of earlier jobs. `InputError` if partition or account does not exist.
    """
    now, jobs = answers.now, [job for job in answers.jobs if job.demand > 0]
    nodes = [node for node in answers.nodes if node.gpus > 0]
    if not any(node.is_usable for node in nodes):
        raise InputError("no node with GPUs can be used now")
    cluster = Cluster.of([node.gpus if node.is_usable else 0 for node in nodes])
    place = {node.name: k for k, node in enumerate(nodes) if node.is_usable}
    there: list[tuple[Job, Held]] = [
        (job, [(place[name], gpus) for name, gpus in job.on_nodes.items() if name in place and gpus])
        for job in jobs if job.state in ON_GPUS
    ]  # fmt: skip
    there = [(job, held) for job, held in there if held or not job.on_nodes]  # not those on nodes that are down
    running = [job._replace(demand=sum(gpus for _, gpus in held) or job.demand) for job, held in there]
    waiting = sorted((job for job in jobs if _waits(job)), key=lambda job: (job.submit, job.id))
    done = [job for job in jobs if history is None and job.state in FINISHED and 0 < job.start < job.end]
    before = _before(history, now)
    at = pd.concat([_table([*running, *waiting, *done], now), before], ignore_index=True)
    known = sorted({*at["tenant"], *([wish.account] if wish.account else [])})
    account = given_or_only(known, wish.account, "the queue: account")
    partitions = sorted({name for node in nodes for name in node.partitions})
    partition = given_or_only(partitions, wish.partition, "a job: partition")
    asked = {
        "job_id": ASKED, "tenant": account, "user": wish.user or account, "demand": wish.gpus,
        "time_limit": wish.time, "submit_time": 0.0, "partition": partition,
        "priority": _priority(jobs, account, wish.user), "nodes": 0,
    }  # fmt: skip
    every = pd.concat([at, pd.DataFrame([asked])], ignore_index=True).astype({"time_limit": float})
    every["row"] = np.arange(len(every))
    a, b, columns = len(running), len(running) + len(waiting), [*COLUMNS, "submit_time"]
    elapsed = [max(0.0, now - job.start) for job in running]
    on = pd.Series([held for _, held in there], dtype=object)
    past = every[[*columns, "duration"]].iloc[b:-1].reset_index(drop=True)
    if history is None:  # so few jobs do not show how many arrive
        past["submit_time"] = 0.0
    return Moment(
        time=0.0,
        origin=pd.Timestamp.fromtimestamp(int(now)),
        cluster=cluster,
        policy=policy.with_parameters(weight_fairshare=0, weight_age=0, weight_jobsize=0),
        rules=_rules(every, nodes, cluster, known),
        weights=dict.fromkeys(known, 1.0),
        running=every[columns].iloc[:a].assign(elapsed=elapsed, held=on),
        waiting=every[columns].iloc[a:b].assign(waited=0.0).reset_index(drop=True),
        past=past,
        asked=every[columns].iloc[[-1]].reset_index(drop=True),
    )


def _waits(job: Job) -> bool:
    return job.state == "PENDING" and not job.held and not job.depends and job.reason in _TURN


def _priority(jobs: Sequence[Job], account: str, user: str) -> float:
    """Return the priority of the last job of the user, else of the account, else the queue's median."""
    shown = [job for job in jobs if job.priority > 0]
    for mine in ([job for job in shown if (job.account, job.user) == (account, user)],
                 [job for job in shown if job.account == account]):  # fmt: skip
        if mine:
            return max(mine, key=lambda job: (job.submit, job.id)).priority
    return float(np.median([job.priority for job in shown if _waits(job)] or [0.0]))


def _table(jobs: Sequence[Job], now: float) -> pd.DataFrame:
    rows = [
        (job.id, job.account or "(none)", job.user or job.account or "(none)", job.demand, job.time_limit,
         min(0.0, job.submit - now), job.partition, job.priority, job.nodes if job.per_node else 0, job.end - job.start)
        for job in jobs
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*COLUMNS[:-1], "submit_time", "partition", "priority", "nodes", "duration"])


def _before(history: Trace | None, now: float) -> pd.DataFrame:
    """Return the jobs of a log that came before `now`."""
    if history is None:
        return _table([], now)
    if history.origin is None:
        raise InputError(f"{history.name}: the log has no dates, so it cannot be related to today's queue")
    since = (history.origin.tz_localize(None) - pd.Timestamp.fromtimestamp(now)).total_seconds()
    table = history.frame[[*COLUMNS[:-1], "submit_time", "duration"]].assign(
        submit_time=history.submit_time + since, nodes=0, priority=np.nan,
        partition="" if history.details is None else history.details["partition"].astype(str),
    )  # fmt: skip
    return table[table["submit_time"] < 0]


def _rules(jobs: pd.DataFrame, nodes: Sequence[Node], cluster: Cluster, known: Sequence[str]) -> Rules:
    """Return nodes by partition, and priorities; a job of the log gets that of its account's last job."""
    frame = jobs.assign(submit_time=np.arange(len(jobs)), duration=1.0, job_id=[f"{k}" for k in range(len(jobs))])
    trace = Trace.from_frame(
        frame[[*COLUMNS[:-1], "submit_time", "duration"]], name="the queue", weights=dict.fromkeys(known, 1.0)
    )
    names = sorted({name for node in nodes for name in node.partitions})
    kinds, kind = np.unique(jobs["partition"].to_numpy(dtype=str), return_inverse=True)
    inside = np.array([[name in node.partitions for node in nodes] for name in names])
    allowed = np.array([[not {*text.split(",")}.isdisjoint(node.partitions) for node in nodes] for text in kinds])
    allowed[~allowed.any(axis=1)] = True
    first = [text.partition(",")[0] for text in jobs["partition"]]
    of_account = jobs.groupby("tenant")["priority"].transform("last")
    priority = jobs["priority"].fillna(of_account).fillna(jobs["priority"].median()).to_numpy(dtype=float)
    return no_rules(trace, cluster)._replace(
        allowed=allowed,
        kind=kind.astype(np.int64),
        nodes=np.minimum(jobs["nodes"].to_numpy(dtype=np.int64), cluster.nodes),
        partition=np.array([names.index(name) if name in names else 0 for name in first], dtype=np.int64),
        partition_nodes=inside,
        bonus=priority,
    )
