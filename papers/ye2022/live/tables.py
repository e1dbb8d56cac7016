"""What was measured on a real Slurm, the same jobs simulated, and both beside each other.

The files are those of ``tests/slurm/live_experiment.py``: for each repetition and system one row per run of a job,
which spans a lease and its renewals. Times are seconds since the beginning, which is a round of the coordinator, and
round 0 of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.metrics import average_jct, sharing_loss
from astraea.core.result import Result
from astraea.traces.trace import Trace
from papers.ye2022.live.nodes import on_slurms_nodes

CLUSTER: Final = Cluster(nodes=4, gpus_per_node=8)
SHARES: Final = {"vision": 2.0, "speech": 1.0, "nlp": 1.0}

INTERVAL: Final = 2.0
"""Between rounds [s]."""

LEASE_TERM: Final = 20.0
"""[s]"""

ASTRAEA: Final = get_policy("astraea")(lease_term=LEASE_TERM)
"""What the coordinator runs."""

SIMULATED: Final = on_slurms_nodes(ASTRAEA)
"""The same with the nodes that Slurm takes; made once, because it is compiled anew whenever it is made."""

HALF_LIFE: Final = 600.0
"""PriorityDecayHalfLife [s]."""

PASS: Final = 1.0
"""How often plain Slurm looks for jobs to start [s]: after what happens, with ``batch_sched_delay=0`` once a second."""

TIME_LIMIT: Final = 120.0
"""Of every job, as backfill is told [s]."""


class Delays(NamedTuple):
    """What takes time on a cluster, on average over the runs of one repetition [s].

    Attributes
    ----------
    first : float
        From the grant of a job's first lease to its first second of work.
    again : float
        From the grant of a later lease, after a stop, to work.
    unsaved : float
        What a stopped job did in its lease after its last save, which is lost.
    """

    first: float
    again: float = 0.0
    unsaved: float = 0.0


NONE: Final = Delays(0.0)


class Repetition(NamedTuple):
    """One repetition on one system.

    Attributes
    ----------
    system : str
        ``astraea`` or ``slurm``.
    seed : int
    runs : DataFrame
        One row per run of a job, as in the file.
    booted : float
        When that Slurm began to compute usage [s], before 0.
    clock : float
        Seconds past a full minute at second 0.
    """

    system: str
    seed: int
    runs: pd.DataFrame
    booted: float
    clock: float


def read(folder: Path) -> list[Repetition]:
    """Read the repetitions of a folder, in order of system and seed.

    Raises
    ------
    InputError
        If there are none.
    """
    path = folder / "repetitions.csv"
    if not path.is_file():
        raise InputError(f"{folder}: there is no file repetitions.csv with the repetitions that were measured")
    notes = pd.read_csv(path).sort_values(["system", "seed"])
    return [
        Repetition(
            note["system"], int(note["seed"]), pd.read_csv(folder / f"{note['system']}_{note['seed']}.csv"),
            float(note["booted"]), float(pd.Timestamp(note["began"]).second),
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

    Parameters
    ----------
    repetition : Repetition
    more : Series or float
        Added to the service of each [s], by job or of all, as in the simulation a granted job works at once.
    """
    runs = repetition.runs
    jobs = runs.drop_duplicates("job").set_index("job")
    columns = {
        "tenant": jobs["tenant"], "demand": jobs["gpus"], "submit_time": jobs["submit"],
        "duration": jobs["service"] + more, "time_limit": TIME_LIMIT,
    }  # fmt: skip
    table = pd.DataFrame(columns).rename_axis("job_id").reset_index()
    recorded = pd.DataFrame({"job_id": runs["job"], "start": runs["start"], "end": runs["stop"]}).dropna()
    return Trace.from_frame(table, name=f"{repetition.system}, repetition {repetition.seed}", weights=SHARES,
                            recorded=recorded)  # fmt: skip


def measured(repetition: Repetition) -> Result:
    """What happened, with the integrals of a simulation."""
    return observed(trace_of(repetition), CLUSTER)


def simulated(
    repetition: Repetition, lasts: Delays | None = None, policy: Policy | None = None, *,
    first: pd.Series | None = None,
) -> Result:  # fmt: skip
    """The same jobs in the simulation.

    Parameters
    ----------
    repetition : Repetition
    lasts : Delays, optional
        The same for all jobs. If not given, first starts take what they took for each, the rest what it took on
        average.
    policy : Policy, optional
        Instead of the coordinator's, with the nodes that Slurm takes; of no use for plain Slurm.
    first : Series, optional
        What the first start of each job takes, by job [s].
    """
    if first is None and lasts is None:
        first = starts(repetition)
    lasts = delays(repetition) if lasts is None else lasts
    trace = trace_of(repetition, lasts.first if first is None else first)
    if repetition.system == "slurm":
        slurm = get_policy("slurm")(
            interval=PASS, half_life=HALF_LIFE, calc_offset=repetition.booted % 60, clock_offset=repetition.clock
        )
        return simulate(trace, CLUSTER, slurm, keep_log=True)
    settings = Settings(
        interval=INTERVAL, checkpoint_overhead=0, restart_overhead=lasts.again + lasts.unsaved, placement="strict"
    )
    chosen = policy or SIMULATED
    return simulate(trace, CLUSTER, chosen, settings=settings, keep_log=True)


def worked(repetition: Repetition, simulation: Result) -> Result:
    """The simulation by the yardstick of the measurement: a run counts from its first second of work, not its grant."""
    lasts, trace = delays(repetition), trace_of(repetition)
    assert simulation.grants is not None
    leases = simulation.grants.assign(run=_runs_of(simulation.grants))
    runs = leases.groupby(["job_id", "run"], as_index=False).agg(start=("start", "first"), end=("end", "last"))
    start = runs["start"] + np.where(runs["run"] == 1, lasts.first, lasts.again)
    recorded = runs.assign(start=np.minimum(start, runs["end"]))[["job_id", "start", "end"]]
    return observed(replace(trace, recorded=recorded), CLUSTER)


def _runs_of(leases: pd.DataFrame) -> pd.Series:
    """Number of the run that each lease belongs to, among those of its job."""
    return (leases["kind"] != "renewal").groupby(leases["job_id"]).cumsum()


def grants(repetition: Repetition, simulation: Result) -> pd.DataFrame:
    """Every grant to a job that waited, measured and simulated.

    Returns
    -------
    DataFrame, columns job, tenant, gpus, run, measured, simulated
        Times in seconds, NaN where a job was not granted GPUs that often.
    """
    when = "granted" if repetition.system == "astraea" else "slurm_start"
    assert simulation.grants is not None
    starts = simulation.grants[simulation.grants["kind"] != "renewal"]
    other = pd.DataFrame({"job": starts["job_id"], "run": _runs_of(starts), "simulated": starts["start"]})
    found = repetition.runs[["job", "run", when]].rename(columns={when: "measured"}).merge(other, "outer")
    jobs = repetition.runs.drop_duplicates("job")[["job", "tenant", "gpus"]]
    return found.merge(jobs)[["job", "tenant", "gpus", "run", "measured", "simulated"]]


def in_order(one: FloatArray, other: FloatArray) -> float:
    """Part of the pairs with different times in `one` that have the same order in `other`, in [0, 1].

    Pairs with equal times in `other` count half.
    """
    before = np.sign(np.subtract.outer(one, one))
    same = before * np.sign(np.subtract.outer(other, other))
    pairs = before != 0
    return float(((same[pairs] + 1) / 2).mean()) if pairs.any() else float("nan")


def comparison(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Measured and simulated side by side.

    Returns
    -------
    DataFrame, one row per system and repetition
        `jct` and `simulated_jct`, on average [s], `error` (simulated over measured, less 1), `granted` (grants that
        both have) and `lone` (that only one has), `in_order` (pairs of grants in the same order), `first_in_order` (of
        first grants), `same_round` (grants at the same time), `loss` and `simulated_loss` (jobs with sharing loss).
    """
    rows = []
    for one in repetitions:
        was, would = measured(one), simulated(one)
        order = grants(one, would)
        both = order.dropna()
        first = both[both["run"] == 1]
        rows.append({
            "system": one.system, "repetition": one.seed, "jct": average_jct(was), "simulated_jct": average_jct(would),
            "error": average_jct(would) / average_jct(was) - 1, "granted": len(both), "lone": len(order) - len(both),
            "in_order": in_order(both["measured"].to_numpy(), both["simulated"].to_numpy()),
            "first_in_order": in_order(first["measured"].to_numpy(), first["simulated"].to_numpy()),
            "same_round": float((both["measured"] - both["simulated"]).abs().lt(INTERVAL / 2).mean()),
            "loss": sharing_loss(was), "simulated_loss": sharing_loss(worked(one, would)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def steps(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """What it takes to come close: simulations of the coordinator's runs with one thing after the other.

    Returns
    -------
    DataFrame, columns repetition, modelled, error, in_order, same_round
        As in `comparison`; `modelled` is what was added last: nothing, the delay of first starts, the costs of being
        stopped, the nodes that Slurm takes instead of those that the simulator would, the first start of each job as
        it was instead of the average.
    """
    rows = []
    for one in repetitions:
        lasts = delays(one)
        models = {
            "no delay": (NONE, ASTRAEA), "starts": (Delays(lasts.first), ASTRAEA), "stops": (lasts, ASTRAEA),
            "nodes": (lasts, None), "each start": (None, None),
        }  # fmt: skip
        for name, (model, policy) in models.items() if one.system == "astraea" else ():
            would = simulated(one, model, policy)
            both = grants(one, would).dropna()
            error = average_jct(would) / average_jct(measured(one)) - 1
            order = in_order(both["measured"].to_numpy(), both["simulated"].to_numpy())
            rows.append({"repetition": one.seed, "modelled": name, "error": error, "in_order": order,
                         "same_round": float((both["measured"] == both["simulated"]).mean())})  # fmt: skip
    return pd.DataFrame(rows)


def overheads(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """What the coordinator's runs cost, measured.

    Returns
    -------
    DataFrame, one row per repetition
        `first`, `again`, `unsaved`, on average, and `longest`, from a grant to work [s]; `stops`, `renewals` and
        `unstarted` leases, for which Slurm had no nodes; `share` of the GPU-time under leases in which
        no work was done that counted, and `simulated_share`.
    """
    rows = []
    for one in repetitions:
        if one.system != "astraea":
            continue
        runs, lasts, would = one.runs, delays(one), simulated(one)
        held = float(((runs["stop"].fillna(runs["over"]) - runs["granted"]) * runs["gpus"]).sum())
        jobs = runs.drop_duplicates("job")
        work = float((jobs["service"] * jobs["gpus"]).sum())
        assert would.grants is not None
        simulated_held = float(((would.grants["end"] - would.grants["start"]) * would.grants["demand"]).sum())
        rows.append({
            "repetition": one.seed, **lasts._asdict(), "longest": (runs["start"] - runs["granted"]).max(),
            "stops": int((runs["outcome"] == "not renewed").sum()), "renewals": int(runs["renewals"].sum()),
            "unstarted": int(runs["start"].isna().sum()),
            "share": 1 - work / held, "simulated_share": 1 - work / simulated_held,
        })  # fmt: skip
    return pd.DataFrame(rows)


def per_job(one: Repetition) -> pd.DataFrame:
    """JCT of every job, measured and simulated [s]."""
    was, would = (result.jobs.set_index("job_id")["jct"] for result in (measured(one), simulated(one)))
    jobs = one.runs.drop_duplicates("job").set_index("job")[["tenant", "gpus", "service"]]
    return jobs.assign(measured=was, simulated=would).reset_index()
