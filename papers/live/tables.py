"""Measurements on a real Slurm, simulations of the same jobs, and both beside each other.

The files are those of ``ops/tests/slurm/live_experiment.py``: for each repetition and system one row per run of a job,
which spans a lease and its renewals. Times are seconds since the beginning, which is a round of the coordinator, and
round 0 of the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numba
import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import PENDING, I, View
from astraea.cluster.observed import observed
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy, place_on
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.arrays import BoolArray
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.traces.trace import Trace
from astraea_ops.policies.slurm_backfill import SLURM_22, choose, shape

CLUSTER: Final = Cluster(nodes=4, gpus_per_node=8)
SHARES: Final = {"vision": 2.0, "speech": 1.0, "nlp": 1.0}
INTERVAL: Final = 2.0  # between rounds [s]
HALF_LIFE: Final = 600.0  # PriorityDecayHalfLife [s]
PASS: Final = 1.0  # between looks of plain Slurm for jobs to start [s]: ``batch_sched_delay=0``
TIME_LIMIT: Final = 120.0  # of every job, as backfill is told [s]
LEASE: Final = 20.0  # [s]

# compiled anew in every process: what is kept on disk for the studies is not told of changes of the engine
COMPILED: Final = numba.njit(error_model="numpy")


def on_slurms_nodes(policy: Policy) -> Policy:
    """A policy that chooses no nodes, with those that `select/cons_tres` of Slurm would take: it packs less closely.

    As in the coordinator, the policy chooses again at the same round if there are no nodes for a gang that it granted;
    gangs of this size that have none are passed over then.
    """
    select_jobs = policy.select

    @COMPILED
    def select(s: View) -> None:
        free, memory, tenant_memory = s.free, s.memory.copy(), s.tenant_memory.copy()
        is_passed_over = np.zeros(len(s.job), np.bool_)
        select_jobs(s)
        while pass_over(s, is_passed_over):
            take_back(s, is_passed_over)
            s.free = free
            s.memory[:], s.tenant_memory[:] = memory, tenant_memory
            select_jobs(s)
        for j in np.flatnonzero(is_passed_over):
            s.job[j].decided = False
            s.open_gangs[s.job[j].demand] += 1

    return replace(policy, name=f"{policy.name} on Slurm's nodes", select=select)


@COMPILED
def pass_over(s: View, is_passed_over: BoolArray) -> bool:
    """Choose nodes for the jobs that were granted GPUs; note those that get none, and who is like them."""
    s.n_choices = 0
    free, everywhere = free_on_nodes(s), np.ones(len(s.node_free), np.bool_)
    has_nodes, lacks = np.zeros(len(s.job), np.bool_), np.zeros(s.gpus + 1, np.bool_)
    for j in s.granted[: s.n_granted]:
        if s.job[j].status == PENDING:
            count, gpus = shape(s, j)
            left = s.job[j].demand
            nodes = choose(free, everywhere, count, gpus, SLURM_22)  # backfill chooses otherwise in newer versions
            has_nodes[j] = len(nodes) > 0
            lacks[left] |= len(nodes) == 0
            for node in nodes:
                place_on(s, j, node, min(left, gpus))
                free[node] -= min(left, gpus)
                left -= gpus
    for j in range(len(s.job)):
        if s.job[j].status == PENDING and lacks[s.job[j].demand] and not has_nodes[j]:
            is_passed_over[j] = True
    return bool(lacks.any())


@COMPILED
def take_back(s: View, is_passed_over: BoolArray) -> None:
    """Undo what the policy chose at this round; jobs that are passed over count as decided."""
    for j in s.granted[: s.n_granted]:
        s.job[j].decided = False
        s.open_gangs[s.job[j].demand] += 1
        s.tenant[s.job[j].tenant].granted -= s.job[j].demand
    for j in s.revoked[: s.n_revoked]:
        s.job[j].decided = False
        s.tenant[s.job[j].tenant].revoked -= s.job[j].demand
    s.n_granted = s.n_revoked = 0
    for j in np.flatnonzero(is_passed_over):
        if not s.job[j].decided:
            s.job[j].decided = True
            s.open_gangs[s.job[j].demand] -= 1


@COMPILED
def free_on_nodes(s: View) -> I:
    """GPUs of each node that nobody holds, once those are gone whose lease ended and was not renewed."""
    free, is_kept = s.node_free.copy(), np.zeros(len(s.job), np.bool_)
    for j in s.granted[: s.n_granted]:
        is_kept[j] = True
    for j in s.expired[: s.n_expired]:
        piece = -1 if is_kept[j] else s.job[j].first_piece
        while piece >= 0:
            free[s.piece[piece].node] += s.piece[piece].gpus
            piece = s.piece[piece].next
    return free


ASTRAEA: Final = get_policy("astraea").with_parameters(lease_term=LEASE)  # what the coordinator runs
SIMULATED: Final = on_slurms_nodes(ASTRAEA)
"""The same with the nodes that Slurm takes; made once, because it is compiled anew whenever it is made."""


class Delays(NamedTuple):
    """Delays on a cluster, on average over the runs of one repetition [s]."""

    first: float  # from the grant of a job's first lease to its first second of work
    again: float = 0.0  # from the grant of a later lease, after a stop, to work
    unsaved: float = 0.0  # what a stopped job did in its lease after its last save, which is lost


NONE: Final = Delays(0.0)


class Repetition(NamedTuple):
    """One repetition on one system."""

    system: str  # ``astraea`` or ``slurm``
    seed: int
    runs: pd.DataFrame  # one row per run of a job, as in the file
    booted: float  # when that Slurm began to compute usage [s], before 0
    clock: float  # seconds past a full minute at second 0
    stretch: int = 1  # times as long as usual were jobs, leases, time limits, the half-life and the pauses between jobs


def read(folder: Path) -> list[Repetition]:
    """Read the repetitions of a folder, in order of system and seed; `InputError` if there are none."""
    path = folder / "repetitions.csv"
    if not path.is_file():
        raise InputError(f"{folder}: there is no file repetitions.csv with the repetitions that were measured")
    notes = pd.read_csv(path).sort_values(["system", "seed"])
    return [
        Repetition(
            note["system"], int(note["seed"]), pd.read_csv(folder / f"{note['system']}_{note['seed']}.csv"),
            float(note["booted"]), float(pd.Timestamp(note["began"]).second), int(note["stretch"]),
        )
        for note in notes.to_dict("records")
    ]  # fmt: skip


def delays(repetition: Repetition) -> Delays:
    """Measure the delays; none of plain Slurm, whose accounting tells a start to the second only."""
    runs = repetition.runs
    if repetition.system == "slurm":
        return NONE
    wait, is_first = runs["start"] - runs["granted"], runs["run"] == 1
    unsaved = (runs["over"] - runs["save"].fillna(runs["start"]))[runs["outcome"] == "not renewed"]
    if unsaved.empty:
        return Delays(float(wait[is_first].mean()))
    return Delays(float(wait[is_first].mean()), float(wait[~is_first].mean()), float(unsaved.mean()))


def starts(repetition: Repetition) -> pd.Series:
    """Measure how long the first start of each job took, from grant to work [s]; 0 of plain Slurm, as in `delays`."""
    first = repetition.runs[repetition.runs["run"] == 1].set_index("job")
    if repetition.system == "slurm":
        return pd.Series(0.0, first.index)
    took = first["start"] - first["granted"]
    return took.fillna(took.mean())


def trace_of(repetition: Repetition, more: pd.Series | float = 0.0) -> Trace:
    """The jobs as they were submitted, with their runs as recorded.

    `more` is added to the service of each [s], by job or of all, as in the simulation a granted job works at once.
    """
    runs = repetition.runs
    jobs = runs.drop_duplicates("job").set_index("job")
    columns = {
        "tenant": jobs["tenant"], "demand": jobs["gpus"], "submit_time": jobs["submit"],
        "duration": jobs["service"] + more, "time_limit": TIME_LIMIT * repetition.stretch,
    }  # fmt: skip
    table = pd.DataFrame(columns).rename_axis("job_id").reset_index()
    recorded = pd.DataFrame({"job_id": runs["job"], "start": runs["start"], "end": runs["stop"]}).dropna()
    return Trace.from_frame(table, name=f"{repetition.system}, repetition {repetition.seed}", weights=SHARES,
                            recorded=recorded)  # fmt: skip


def measured(repetition: Repetition) -> Result:
    """Return the measured runs as a result, with the integrals of a simulation."""
    return observed(trace_of(repetition), CLUSTER)


def simulated(
    repetition: Repetition, lasts: Delays | None = None, policy: Policy | None = None, *,
    first: pd.Series | None = None,
) -> Result:  # fmt: skip
    """Simulate the same jobs.

    `lasts` is the same for all jobs, and `first` is what the first start of each takes, by job [s]. Without both, first
    starts take what they took for each, and the rest what it took on average. `policy` replaces the coordinator's with
    the nodes that Slurm takes; plain Slurm ignores it.
    """
    if first is None and lasts is None:
        first = starts(repetition)
    lasts = delays(repetition) if lasts is None else lasts
    trace = trace_of(repetition, lasts.first if first is None else first)
    if repetition.system == "slurm":
        slurm = get_policy("slurm").with_parameters(
            interval=PASS, half_life=HALF_LIFE * repetition.stretch, calc_offset=repetition.booted % 60,
            clock_offset=repetition.clock,
        )
        return simulate(trace, CLUSTER, slurm, keep_log=True)
    settings = Settings(
        interval=INTERVAL, checkpoint_overhead=0, restart_overhead=lasts.again + lasts.unsaved, placement="strict"
    )
    ours = policy or SIMULATED.with_parameters(lease_term=LEASE * repetition.stretch)
    return simulate(trace, CLUSTER, ours, settings=settings, keep_log=True)


def worked(repetition: Repetition, simulation: Result) -> Result:
    """The simulation by the yardstick of the measurement: a run counts from its first second of work, not its grant."""
    lasts, trace = delays(repetition), trace_of(repetition)
    leases = simulation.log.assign(run=_runs_of(simulation.log))
    runs = leases.groupby(["job_id", "run"], as_index=False).agg(start=("start", "first"), end=("end", "last"))
    start = runs["start"] + np.where(runs["run"] == 1, lasts.first, lasts.again)
    recorded = runs.assign(start=np.minimum(start, runs["end"]))[["job_id", "start", "end"]]
    return observed(replace(trace, recorded=recorded), CLUSTER)


def _runs_of(leases: pd.DataFrame) -> pd.Series:
    """Number of the run that each lease belongs to, among those of its job."""
    return (leases["kind"] != "renewal").groupby(leases["job_id"]).cumsum()


def grants(repetition: Repetition, simulation: Result) -> pd.DataFrame:
    """Every grant to a job that waited, measured and simulated [s], NaN where a job was not granted GPUs that often."""
    when = "granted" if repetition.system == "astraea" else "slurm_start"
    starts = simulation.log[simulation.log["kind"] != "renewal"]
    other = pd.DataFrame({"job": starts["job_id"], "run": _runs_of(starts), "simulated": starts["start"]})
    found = repetition.runs[["job", "run", when]].rename(columns={when: "measured"}).merge(other, "outer")
    jobs = repetition.runs.drop_duplicates("job")[["job", "tenant", "gpus"]]
    return found.merge(jobs)[["job", "tenant", "gpus", "run", "measured", "simulated"]]
