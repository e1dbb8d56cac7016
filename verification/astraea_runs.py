"""Our results against those of the simulator that ASTRAEA's authors released, job by job.

A folder of reference results has ``WORKLOAD.input.csv.gz`` for each workload (jobs; tenants in alphabetical order, of
equal weight), and ``WORKLOAD_nNODES_RUN.csv.gz`` for each run. The latter has one row per job: `job_id`, `end_time`
[s], `fairness` (rho_job when it ended), `lease_expiry_cnt`, `preempt_cnt`, `submit_time` [s], `duration` [s]. Nodes
have 8 GPUs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import joblib
import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import Result
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from papers.ye2022.readings import FLAWED, NO_COST
from papers.ye2022.whole_rounds import in_whole_rounds

COLUMNS: Final = ("job_id", "end_time", "fairness", "lease_expiry_cnt", "preempt_cnt", "submit_time", "duration")
PRINTED: Final = 0.5e-4
"""Reference fairness has four decimals."""


class Preset(NamedTuple):
    """Our version of one of their runs."""

    policy: str
    parameters: dict[str, str | int]
    is_flawed: bool  # whether it removed jobs from a list while it walked it, as all but the mended one

    @property
    def made(self) -> Policy:
        """The policy."""
        return get_policy(self.policy).with_parameters(**self.parameters)


RUNS: Final = {
    "astraea-repaired": Preset("astraea-released", {}, is_flawed=False),
    "astraea": Preset("astraea-released", {}, is_flawed=True),
    "tiresias": Preset("astraea-released", {"job_order": "2das", "delay_threshold": 0}, is_flawed=True),
    "themis": Preset("astraea-released", {"job_order": "themis"}, is_flawed=True),
    "fifo": Preset("astraea-released", {"job_order": "fifo", "delay_threshold": 0}, is_flawed=True),
    "yarn": Preset("yarn-cs", {}, is_flawed=True),
}
"""Names of runs -> policy."""


@dataclass(frozen=True)
class Reference:
    """One run of the released simulator."""

    input: Path
    output: Path
    workload: str
    nodes: int
    run: str

    @property
    def policy(self) -> Policy:
        """The same here."""
        return RUNS[self.run].made

    @property
    def settings(self) -> Settings:
        """Return its settings: the released simulator only counts overheads, and most of its runs have the flaw."""
        return FLAWED if RUNS[self.run].is_flawed else NO_COST


def references(folder: str | Path) -> list[Reference]:
    """Find the runs in a folder, by name.

    Raises
    ------
    InputError
        If there are none, one has no input, or is of an unknown kind.
    """
    found = []
    for path in sorted(Path(folder).glob("*_n*_*.csv.gz")):
        name = re.fullmatch(r"(.+)_n(\d+)_([a-z0-9-]+)\.csv\.gz", path.name)
        if name is None:  # the tenants' table of a run
            continue
        workload, nodes, run = name.groups()
        source = path.with_name(f"{workload}.input.csv.gz")
        if not source.is_file():
            raise InputError(f"{source}: missing, it is the input of {path.name}")
        if run not in RUNS:
            raise InputError(f"{path}: unknown run {run!r}; known are {', '.join(RUNS)}")
        found.append(Reference(source, path, workload, int(nodes), run))
    if not found:
        raise InputError(f"{folder}: holds no reference result WORKLOAD_nNODES_RUN.csv.gz")
    return found


def compare(reference: Reference) -> pd.DataFrame:
    """Simulate what they simulated; one row per job, their figures beside ours.

    Returns
    -------
    DataFrame, columns workload, nodes, run, job_id, demand, submit_time, end_time, their_end_time [s], rho_job,
    their_rho_job [1], lease_ends, their_lease_ends, lost_leases, their_lost_leases
        `lost_leases` are those taken away before their end.

    Raises
    ------
    InputError
        If a file is missing, damaged, cut short or not about the same jobs.
    """
    theirs = read_output(reference.output)
    trace = read_trace(reference.input, format="tiresias-csv", time_unit="s")
    cluster = Cluster(reference.nodes)
    result = simulate(trace, cluster, reference.policy, settings=reference.settings, keep_log=True)
    ours = result.jobs.assign(job_id=result.jobs["job_id"].astype(str)).set_index("job_id")
    check_jobs(reference, list(ours.index), theirs)
    last = ~result.log["job_id"].duplicated(keep="last")
    lasted = result.log["end"] - result.log["start"]
    lost = (~last & (lasted < reference.policy.lease_term)).groupby(result.log["job_id"].astype(str)).sum()
    theirs = theirs.loc[ours.index]
    return pd.DataFrame(
        {
            "workload": reference.workload,
            "nodes": reference.nodes,
            "run": reference.run,
            "job_id": ours.index,
            "demand": ours["demand"],
            "submit_time": ours["submit_time"],
            "duration": ours["duration"],
            "end_time": ours["end_time"],
            "their_end_time": theirs["end_time"],
            "rho_job": released_rho(trace, result, reference.settings.interval),
            "their_rho_job": theirs["fairness"],
            "lease_ends": ours["leases"] - 1 - lost.loc[ours.index],
            "their_lease_ends": theirs["lease_expiry_cnt"],
            "lost_leases": lost.loc[ours.index],
            "their_lost_leases": theirs["preempt_cnt"],
        }
    ).reset_index(drop=True)


def read_output(path: Path) -> pd.DataFrame:
    """Read the jobs of a reference run, by job_id."""
    try:
        table = pd.read_csv(path, usecols=list(COLUMNS), dtype={"job_id": str})
        return table.astype(dict.fromkeys(COLUMNS[1:], float)).set_index("job_id")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (EOFError, OSError, ValueError) as err:  # cut in the middle, no gzip file, no such columns
        what = " ".join(str(err).split()) or type(err).__name__
        raise InputError(f"{path}: expected a whole table with {', '.join(COLUMNS)}, got: {what}") from None


def check_jobs(reference: Reference, ours: list[str], theirs: pd.DataFrame) -> None:
    """Raise `InputError` unless both are about the same jobs, each once and with all figures."""
    if not theirs.index.is_unique:
        twice = theirs.index[theirs.index.duplicated()][0]
        raise InputError(f"{reference.output}: job {twice!r} is listed twice")
    if theirs.isna().any(axis=None):
        raise InputError(f"{reference.output}: job {theirs.index[theirs.isna().any(axis=1)][0]!r} lacks a figure")
    missing = [j for j in ours if j not in theirs.index]
    if missing or len(theirs) > len(ours):
        first = missing[0] if missing else next(j for j in theirs.index if j not in set(ours))
        raise InputError(
            f"{reference.output}: {len(theirs)} jobs where {reference.input.name} gives {len(ours)}; "
            f"the first that differs is {first!r}"
        )


def released_rho(trace: Trace, result: Result, tick: float) -> FloatArray:
    """Fairness of each job as the released simulator counts it when the job has given its GPUs back."""
    left = result.log.groupby("job_id")["end"].max().loc[result.jobs["job_id"]].to_numpy()
    run = trace._take(np.flatnonzero(pd.Index(trace.job_id).isin(result.jobs["job_id"])))  # without excluded ones
    return in_whole_rounds(run, result.jobs, left, result.gpus, tick)["rho_job"].to_numpy(dtype=np.float64)


def summarize(jobs: pd.DataFrame) -> dict[str, Any]:
    """One line of the comparison, of the jobs of one run."""

    def figures(prefix: str) -> dict[str, float]:
        jct = jobs[f"{prefix}end_time"] - jobs["submit_time"]
        return {
            f"{prefix}average_jct": float(jct.mean()),
            f"{prefix}sharing_loss": float((jobs[f"{prefix}rho_job"].round(4) < SHARING_LOSS).mean()),
            f"{prefix}average_slowdown": float((jct / jobs["duration"]).mean()),
            f"{prefix}lease_ends": int(jobs[f"{prefix}lease_ends"].sum()),
            f"{prefix}lost_leases": int(jobs[f"{prefix}lost_leases"].sum()),
        }

    late = jobs["end_time"] != jobs["their_end_time"]
    return {
        "workload": str(jobs["workload"].iloc[0]),
        "nodes": int(jobs["nodes"].iloc[0]),
        "run": str(jobs["run"].iloc[0]),
        "jobs": len(jobs),
        "same_end_time": int((~late).sum()),
        "same_lease_ends": int((jobs["lease_ends"] == jobs["their_lease_ends"]).sum()),
        "same_lost_leases": int((jobs["lost_leases"] == jobs["their_lost_leases"]).sum()),
        "same_rho_job": int(((jobs["rho_job"] - jobs["their_rho_job"]).abs() <= PRINTED * 1.02).sum()),
        "first_difference": float(np.min(jobs.loc[late, ["end_time", "their_end_time"]].to_numpy(), initial=np.inf)),
        **figures(""),
        **figures("their_"),
    }


def agrees(row: dict[Any, Any]) -> bool:
    """Return true if every job of a line of `summarize` is alike."""
    return all(row[c] == row["jobs"] for c in ("same_end_time", "same_lease_ends", "same_lost_leases", "same_rho_job"))


def verify(folder: str | Path) -> list[pd.DataFrame]:
    """`compare` all runs of a folder, in parallel; in their order."""
    return list(joblib.Parallel(n_jobs=-1)(joblib.delayed(compare)(reference) for reference in references(folder)))
