"""Our Gavel beside a real cluster: 120 jobs on 32 V100s, whose completions the authors of Shockwave published.

P. Zheng, R. Pan, T. Khan, S. Venkataraman, A. Akella, *Shockwave: Fair and Efficient Cluster Scheduling for Dynamic
Adaptation in Machine Learning*, NSDI 2023, ran Gavel's code, changed by them, on 8 servers of 4 GPUs, and simulated the
same. Their released code differs from ours in these points, which are tried one by one (`STEPS`):

- batch sizes grow while jobs run (`accordion`, `gns`), which changes how long these are. No file has the time of a job
  alone; it can be computed from each run's finish-time fairness, which is JCT over it and the jobs beside it (`alone`);
- a job that did not run in the round before loses 20 s of 120; here it loses 5 s, and nothing at its first start;
- programs are solved every 1,000 s at most; here, every 1,920 s. Solved at every change, priorities start anew each
  time;
- rounds are those of Gavel's released program (`AS_RELEASED`): types are filled one after the other, and what is left
  is given away;
- its solver ends in the center of the optima.

One difference remains under FTF: the share of jobs with a fairness above 1 is 93 %, theirs is 73 %. It does not change
if policies see the listed lengths while jobs run as long as they do.

These have no counterpart here: their AlloX, which takes a gang for a job of one GPU (ours refuses it); their
Gandiva_fair, which counts a gang as one GPU; Shockwave itself. The makespan of a run is the end of its last job. The
cluster's run of finish-time fairness names 27,841 s instead, less than its own 243 rounds of 120 s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.gavel.simulate import simulate
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

GPUS: Final = 32
NEEDED: Final = "shockwave/results.json"
"""File in the folder of reference results."""

NAMES: Final = {
    "las": "max_min_fairness", "ftf": "finish_time_fairness", "makespan": "min_total_duration",
    "max-throughput": "max_sum_throughput_perf", "allox": "allox", "gandiva-fair": "gandiva_fair",
    "shockwave": "shockwave",
}  # fmt: skip
"""Policies here -> the same there."""

RUN: Final = ("las", "ftf", "makespan", "max-throughput")
"""Policies that have a counterpart here."""

SOURCES: Final = {"physical": "cluster", "simulation": "their simulator"}

HERE: Final[dict[str, Any]] = {"round_length": 120.0}

STEPS: Final[dict[str, dict[str, Any]]] = {
    "lengths as batch sizes grow": {"lengths": True},
    "20 s lost by a restart": {"preemption_overhead": 20.0},
    "solved every 1,000 s": {"solve_interval": 1000.0},
    "rounds as released": {"by_type": True, "leftovers": True},
    "the center of the optima": {"optimum": "central"},
}
"""Changes, made one after the other and each alone; with all of them ours does what their simulator does."""

ALONE: Final[dict[str, dict[str, Any]]] = {"solved at every change": {"solve_interval": 0.0}}
"""Changes that were tried too, and are no part of their simulator."""


class Reference(NamedTuple):
    """The jobs, and their results on the cluster and in its simulator; n = 120."""

    workload: Workload
    throughputs: Throughputs
    runs: dict[tuple[str, str], dict[str, Any]]  # policy and source -> results, JCT [s] and fairness of each job
    alone: FloatArray  # (n,) time alone on its gang, batch sizes growing [s]

    def jct(self, policy: str, source: str) -> FloatArray:
        """(n,) [s]."""
        return np.asarray(self.runs[policy, source]["jct"], float)


def read_reference(folder: str | Path) -> Reference:
    """Read the reference; `InputError` if it is not in the folder."""
    place = (Path(folder) / NEEDED).parent
    if not (place / "results.json").is_file():
        raise InputError(f"{place / 'results.json'}: no such file")
    table = Throughputs.read(place / "tacc_throughputs.json")
    # V100s only: a program has nothing to say of types without a GPU
    table = replace(table, solo=table.solo[..., :1], shared=table.shared[..., :1], types=table.types[:1])
    columns = {0: "kind", 5: "steps", 6: "gang", 11: "arrival"}
    jobs = pd.read_csv(place / "120_jobs.trace", sep="\t", header=None, usecols=list(columns)).rename(columns=columns)
    gang, steps, arrival = (jobs[c].to_numpy() for c in ("gang", "steps", "arrival"))
    workload = Workload.of("120 jobs", tuple(jobs["kind"]), gang, steps.astype(float), arrival.astype(float))
    found = json.loads((place / "results.json").read_text(encoding="utf-8"))
    theirs = {(p, s): found[f"{name}_{word}"] for p, name in NAMES.items() for word, s in SOURCES.items()
              if f"{name}_{word}" in found}  # fmt: skip
    told = [
        np.array(run["jct"]) / run["ftf_themis"] / crowding(workload.arrival_time, np.array(run["jct"]))
        for run in theirs.values()
    ]
    return Reference(workload, table, theirs, np.median(told, axis=0))


def crowding(arrival: FloatArray, jct: FloatArray) -> FloatArray:
    """Mean number of active jobs over the GPUs during each job's life, at least 1, (n,); a gang is one job there."""
    end = arrival + jct
    both = np.minimum.outer(end, end) - np.maximum.outer(arrival, arrival)
    return np.asarray(np.maximum(1.0, np.maximum(both, 0.0).sum(axis=1) / jct / GPUS))


def simulated(reference: Reference, policy: str, **changes: Any) -> tuple[FloatArray, FloatArray, pd.DataFrame]:
    """JCT [s] and finish-time fairness as defined there, (n,), and the jobs, under a policy with some of `STEPS`."""
    options = HERE | changes
    w, lengths = reference.workload, options.pop("lengths", False)
    speed = np.array([reference.throughputs.alone(*job)[0] for job in zip(w.job_type, w.scale_factor, strict=True)])
    alone = reference.alone if lengths else w.total_steps / speed
    if lengths:
        w = replace(w, total_steps=np.ceil(alone * speed))
    jobs = simulate(w, reference.throughputs, (GPUS,), policy, **options).jobs
    jct = jobs["jct"].to_numpy(float)
    return jct, jct / alone / crowding(w.arrival_time, jct), jobs


def verify_hardware(folder: str | Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Simulate what the cluster ran.

    Parameters
    ----------
    folder : path
        Of the reference results.

    Returns
    -------
    summary : DataFrame, columns policy, source, makespan, average_jct, worst_ftf, above_1, cluster_correlation,
    simulator_correlation, named_makespan, rounds
        Times in s; `above_1` is the share of jobs with a finish-time fairness above 1, correlations are of the JCTs of
        the same jobs. NaN where there is no such run, or it does not say.
    steps : DataFrame, columns policy, step, alone_jct, average_jct, makespan, preemptions, cluster_correlation,
    simulator_correlation
        `alone_jct` is the average JCT with this change only, the others with all up to this one.
    jobs : DataFrame, columns policy, job, cluster, their_simulator, here, as_their_simulator
        JCTs [s].
    """
    r = read_reference(folder)
    rows: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    jobs: list[pd.DataFrame] = []
    every = {key: value for change in STEPS.values() for key, value in change.items()}
    for policy in NAMES:
        jcts = {source: r.jct(policy, source) for source in SOURCES.values() if (policy, source) in r.runs}
        fair = {source: np.array(r.runs[policy, source]["ftf_themis"]) for source in jcts}
        if policy in RUN:
            for source, changes in (("here", {}), ("as their simulator", every)):
                jcts[source], fair[source], _ = simulated(r, policy, **changes)
            steps += _steps(r, policy)
            columns = {"policy": policy, "job": range(len(r.workload))}
            jobs.append(pd.DataFrame(columns | {source.replace(" ", "_"): jct for source, jct in jcts.items()}))
        for source, jct in jcts.items():
            run = r.runs.get((policy, source), {})
            rows.append({
                "policy": policy, "source": source, "makespan": _last_end(r, jct), "average_jct": jct.mean(),
                "worst_ftf": fair[source].max(), "above_1": (fair[source] > 1).mean(), **_correlations(r, policy, jct),
                "named_makespan": run.get("makespan", np.nan), "rounds": run.get("rounds", np.nan),
            })  # fmt: skip
    return pd.DataFrame(rows), pd.DataFrame(steps), pd.concat(jobs, ignore_index=True)


def _steps(r: Reference, policy: str) -> Iterator[dict[str, Any]]:
    so_far: dict[str, Any] = {}
    changes: dict[str, dict[str, Any]] = {"as here": {}, **ALONE, **STEPS}
    for step, change in changes.items():
        row = {"policy": policy, "step": step, "alone_jct": simulated(r, policy, **change)[0].mean()}
        if step not in ALONE:
            so_far |= change
            jct, _, jobs = simulated(r, policy, **so_far)
            row |= {
                "average_jct": jct.mean(), "makespan": _last_end(r, jct), "preemptions": jobs["preemptions"].sum(),
                **_correlations(r, policy, jct),
            }  # fmt: skip
        yield row


def _last_end(r: Reference, jct: FloatArray) -> float:
    return float((r.workload.arrival_time + jct).max())


def _correlations(r: Reference, policy: str, jct: FloatArray) -> dict[str, float]:
    return {
        f"{source.split()[-1]}_correlation": float(np.corrcoef(jct, r.jct(policy, source))[0, 1])
        if (policy, source) in r.runs else np.nan
        for source in SOURCES.values()
    }  # fmt: skip


def shown_hardware(summary: pd.DataFrame, steps: pd.DataFrame) -> str:
    """Write both for a person."""
    return (
        f"120 jobs on {GPUS} V100s [s]:\n{summary.round(3).to_string(index=False, na_rep='')}\n\n"
        f"from here to their simulator:\n{steps.round(3).to_string(index=False, na_rep='')}"
    )
