"""ASTRAEA as written against ASTRAEA as released: the variants, measures of each, and the flaw of the release.

The variants lead from Algorithms 1 and 2 ([Ye2022] §5.2), one option at a time, to the rules of the simulator that the
authors released. Where that one has no cost of checkpoints and restarts, the same is simulated with and without.

The last of its rules is a flaw. That program walks the list of running jobs, in the order of their launches, and
removes those whose lease has ended. It skips the job behind each of them until the next round (`engine.loop`). So
leases that were in step drift apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.metrics import SHARING_LOSS, hourly, summary
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.experiments.grid import Grid
from astraea.traces.trace import Trace
from papers.ye2022.evaluation import few_seeds, grid_of, run_of, workloads
from papers.ye2022.readings import FLAWED, NO_COST, WITH_RULES, Flawed
from papers.ye2022.tables import fairness_figures, relative_to

RULES: Final[Mapping[str, float]] = {"tenant_window": DAY, "idle_guard": 0.2, "starvation": 6 * HOUR}
"""Rules of the released program beyond [Ye2022], with its values: tenants are compared over a day, one that uses little
goes first, and so does a job that has waited long."""

EARLY_LEASE: Final = 300.0  # `early_lease` of the released program, which the paper does not name either [s]
FIGURES: Final = ("average_jct", "average_slowdown", "sharing_loss", "tenant_sharing_loss", "tenant_below_99")


class Variant(NamedTuple):
    """One scheduler to compare: its name in figures, the policy with its parameters, and what is simulated besides.

    With `minutes`, the trace is that of `whole_minutes`.
    """

    name: str
    policy: str
    parameters: Mapping[str, Any]
    settings: Settings = Settings()
    minutes: bool = False


WRITTEN, MENDED, RELEASED = "Algorithm 1", "released, bug mended", "as released"
ALL_THREE, ALL_FOUR = "all three", "all three + early leases"

VARIANTS: Final = (
    Variant(WRITTEN, "astraea", {}),
    Variant("window of 24 h", WITH_RULES.policy, {"tenant_window": RULES["tenant_window"]}),
    Variant("idle guard", WITH_RULES.policy, {"idle_guard": RULES["idle_guard"]}),
    Variant("queue after 6 h", WITH_RULES.policy, {"starvation": RULES["starvation"]}),
    Variant("early leases", WITH_RULES.policy, {"early_lease": EARLY_LEASE}),
    Variant(ALL_THREE, WITH_RULES.policy, RULES),
    Variant(ALL_FOUR, WITH_RULES.policy, {**RULES, "early_lease": EARLY_LEASE}),
    Variant(MENDED, "astraea-released", {}),
    Variant(RELEASED, "astraea-released", {}, Flawed()),
    Variant("without early leases", "astraea-released", {"delay_threshold": 0}),
    Variant("Tiresias' order", "astraea-released", {"job_order": "2das", "delay_threshold": 0}),
    Variant("Themis' order, true times", "astraea-released", {"job_order": "themis"}),
    Variant("order of submission", "astraea-released", {"job_order": "fifo", "delay_threshold": 0}),
)  # fmt: skip
"""With overheads; in the order of the figures. Themis' order knows true remaining times, as in the released code."""

FREE_VARIANTS: Final = (
    Variant(WRITTEN, "astraea", {}, NO_COST),
    Variant(MENDED, "astraea-released", {}, NO_COST),
    Variant(RELEASED, "astraea-released", {}, FLAWED),
    Variant(MENDED, "astraea-released", {}, NO_COST, minutes=True),
    Variant(RELEASED, "astraea-released", {}, FLAWED, minutes=True),
)
"""Without overheads; the last two on whole minutes."""


def released_grid(trace: str, scale: str = "paper") -> Grid:
    """Every variant on the first two seeds, or one of a large trace; those without overheads on the first only."""
    rows = []
    for seed, jobs, cluster in workloads(trace, scale, few_seeds(trace, scale)):
        rounded = whole_minutes(jobs)
        for v in (*VARIANTS, *FREE_VARIANTS) if seed == 0 else VARIANTS:
            run = run_of(rounded if v.minutes else jobs, cluster, v.policy, settings=v.settings, **v.parameters)
            own = {"variant": v.name, "overheads": v.settings not in (NO_COST, FLAWED), "minutes": v.minutes}
            rows.append((seed, run, own))
    found = grid_of(rows)
    return Grid(found.runs, found.index[["variant", "overheads", "minutes", "scheduler", "seed", "nodes"]])


def whole_minutes(trace: Trace) -> Trace:
    """The trace with submission times and durations rounded up to whole minutes, as in the authors' workloads."""
    rounded = {c: np.ceil(getattr(trace, c) / MINUTE) * MINUTE for c in ("submit_time", "duration")}
    return dataclasses.replace(trace, name=f"{trace.name}, whole minutes", **rounded)


def staggered(trace: Trace, seed: int = 0) -> Trace:
    """The trace with each submission 0, 10, ... or 50 s later, at random: the opposite of `whole_minutes`."""
    later = 10.0 * np.random.default_rng(seed).integers(0, 6, len(trace))
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    frame = trace.frame.assign(submit_time=trace.submit_time + later)
    return Trace.from_frame(frame, name=f"{trace.name}, staggered", weights=weights)


def study_figures(result: Result) -> dict[str, Any]:
    """Efficiency and fairness of one run; times in s, shares in [0, 1].

    `first_wait` is the mean time from submission to the first lease, `longest_wait` the largest sum of a job's waits.
    """
    jobs, figures, about = result.jobs, summary(result) | fairness_figures(result), result.provenance
    is_released = result.policy == "astraea-released"
    return {
        **{name: figures[name] for name in FIGURES},
        "first_wait": float((jobs["first_start_time"] - jobs["submit_time"]).mean()),
        "longest_wait": float(jobs["queueing_delay"].max()),
        "overhead_share": figures["overhead_share"],
        "preemptions_per_job": float(jobs["preemptions"].mean()),
        "job_order": about["parameters"]["job_order"] if is_released else np.nan,
        "skipped_neighbour": str(about.get("list_removal_flaw", False)).lower() if is_released else np.nan,
    }


def job_figures(result: Result) -> pd.DataFrame:
    """One row per job: columns tenant, slowdown, loses (rho_job below 0.95), and held as in `held_at_submission`."""
    loses = result.jobs["rho_job"] < SHARING_LOSS
    return result.jobs[["tenant", "slowdown"]].assign(loses=loses, held=held_at_submission(result))


def held_at_submission(result: Result) -> np.ndarray:
    """GPUs that the tenant of each job held at the last full hour before its submission [GPU], shape (n,)."""
    every_hour = hourly(result)
    names = pd.Index(every_hour["tenant"].unique())
    gpus = every_hour["held"].to_numpy().reshape(-1, len(names))
    hour = (result.jobs["submit_time"].to_numpy() // HOUR).astype(int)
    held: np.ndarray = gpus[np.minimum(hour, len(gpus) - 1), names.get_indexer(result.jobs["tenant"])]
    return held


def changes(table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the change of each variant from ASTRAEA as written, within each seed, so that seeds' differences cancel.

    `columns` have a heading each. Texts are the mean relative change, and in how many of the seeds the value is lower:
    ``-12.3 % (3 of 3)``; ``–`` where the reference is 0.
    """
    shown = {}
    for column, heading in columns.items():
        ratios = relative_to(table, "variant", column, WRITTEN).groupby("variant", sort=False)["relative"]
        shown[heading] = ratios.agg(_change).drop(WRITTEN)
    return pd.DataFrame(shown).rename_axis("variant")


def _change(ratios: pd.Series[float]) -> str:
    ratio = ratios.to_numpy()
    if not np.isfinite(ratio).all():
        return "–"
    return f"{100 * (ratio.mean() - 1):+.1f} % ({(ratio < 1).sum()} of {len(ratio)})"


def tenant_loads(trace: Trace, cluster: Cluster) -> pd.DataFrame:
    """Quota of each tenant [GPU], and its load: the GPU-time of its jobs over its quota while jobs are submitted."""
    quota = quotas(trace, cluster.gpus)
    work = np.bincount(trace.tenant, trace.gpu_time, len(trace.tenants))
    return pd.DataFrame({"tenant": trace.tenants, "quota": quota, "load": work / (quota * max(trace.span, 1.0))})


def grouped(among: pd.DataFrame, by: str, variants: Sequence[str]) -> pd.DataFrame:
    """Rows of `job_groups` of some variants as they are shown: shares in percent, index variant and band."""
    part = among[(among["by"] == by) & among["variant"].isin(variants)].copy()
    percent = {"jobs": "jobs [%]", "excess": "excess [%]", "loses": "with sharing loss [%]"}
    part[list(percent)] = (100 * part[list(percent)]).round(1)
    part["slowdown"] = part["slowdown"].round(2)
    return part.drop(columns="by").rename(columns={**percent, "band": by}).set_index(["variant", by])


HELD_BANDS: Final = {"below 20 %": (-np.inf, 0.2), "20 to 100 %": (0.2, 1.0), "100 % and more": (1.0, np.inf)}
LOAD_BANDS: Final = {"below 100 %": (-np.inf, 1.0), "100 % and more": (1.0, np.inf)}


def job_groups(jobs: pd.DataFrame, loads: pd.DataFrame) -> pd.DataFrame:
    """Slowdown and losses of the jobs, by what their tenants hold and ask for.

    `jobs` are measured with `job_figures`; `loads` is `tenant_loads` of every seed, with the column seed. Columns
    variant, by (``held``, what the tenant held before the submission over its quota, or ``load``), band, jobs, excess,
    slowdown, loses. `jobs` and `excess` are the band's shares of the jobs and of the sum of slowdown - 1 [0, 1].
    `slowdown` is the mean, `loses` the share of its jobs with sharing loss. Means are over the jobs of all seeds.
    """
    jobs = jobs.merge(loads, on=["seed", "tenant"], validate="many_to_one")
    jobs["held"] /= jobs["quota"]
    rows = []
    for variant, mine in jobs.groupby("variant", sort=False):
        for by, bands in (("held", HELD_BANDS), ("load", LOAD_BANDS)):
            for band, (low, high) in bands.items():
                part = mine[(mine[by] >= low) & (mine[by] < high)]
                if part.empty:
                    continue
                excess = (part["slowdown"] - 1).sum() / max((mine["slowdown"] - 1).sum(), 1e-12)
                means = part[["slowdown", "loses"]].mean()
                rows.append((variant, by, band, len(part) / len(mine), excess, *means))
    return pd.DataFrame(rows, columns=["variant", "by", "band", "jobs", "excess", "slowdown", "loses"])


EXAMPLE: Final = Cluster(nodes=1, gpus_per_node=3)  # where `parting` and `example` run


def parting() -> dict[str, Result]:
    """Four jobs of one tenant on three GPUs, under the paper's text and under the released program.

    A and B, of 2 GPUs and of 1, are in their second lease when C comes, two minutes after it began, and D, seven
    minutes after. Rounds are a minute apart, and there are no overheads.
    """
    jobs = {
        "job_id": ["A", "B", "C", "D"], "demand": [2, 1, 2, 1],
        "submit_time": [0.0, 0.0, 17 * MINUTE, 22 * MINUTE], "duration": [45 * MINUTE] * 2 + [5 * MINUTE] * 2,
    }  # fmt: skip
    trace = Trace.from_frame(pd.DataFrame({**jobs, "tenant": "all"}), name="four jobs")
    settings = dataclasses.replace(NO_COST, interval=MINUTE)
    policies = {"the paper's text": "astraea", "the released program": "astraea-released"}
    return {text: simulate(trace, EXAMPLE, p, settings=settings, keep_log=True) for text, p in policies.items()}


def example(skipped: bool) -> Result:
    """Three jobs of 45 min that start together, and a short one that comes 30 s after their leases have ended.

    All on one GPU, with rounds of a minute, no overheads and no early leases.
    """
    jobs = {"job_id": ["A", "B", "C", "new"], "submit_time": [0.0, 0.0, 0.0, 930.0], "duration": [2700.0] * 3 + [600.0]}
    trace = Trace.from_frame(pd.DataFrame({**jobs, "tenant": "all", "demand": 1}), name="example")
    policy = get_policy("astraea-released").with_parameters(delay_threshold=0)
    settings = dataclasses.replace(FLAWED if skipped else NO_COST, interval=MINUTE)
    return simulate(trace, EXAMPLE, policy, settings=settings, keep_log=True)


def lease_ends_together(result: Result) -> float:
    """Return the number of leases that end in the round in which a lease ends, itself included, averaged over leases.

    Leases during which the job was completed are not counted.
    """
    whole = result.log["end"] - result.log["start"] >= result.provenance["parameters"]["lease_term"]
    ends = (result.log.loc[whole, "end"] / float(result.provenance["interval"])).round().value_counts()
    return float((ends**2).sum() / ends.sum()) if len(ends) else float("nan")


def synchrony(trace: Trace, cluster: Cluster, most_jobs: int = 5_000) -> pd.DataFrame:
    """Return how many leases end together, with recorded times and with whole minutes, for each walk.

    Of a trace with more than `most_jobs` jobs the first so many. Columns minutes, skipped, together.
    """
    first, rows = trace.head(most_jobs), []
    for minutes, skipped in product((False, True), repeat=2):
        jobs, settings = whole_minutes(first) if minutes else first, FLAWED if skipped else NO_COST
        result = simulate(jobs, cluster, "astraea-released", settings=settings, keep_log=True)
        rows.append({"minutes": minutes, "skipped": skipped, "together": lease_ends_together(result)})
    return pd.DataFrame(rows)


TIMES: Final = {False: "in rounds", True: "whole minutes"}  # names, by whether times are whole minutes
WALKS: Final = {False: "mended", True: "neighbour skipped"}  # names, by whether the neighbour is skipped


def walked(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of ``released_grid(...).table()`` in which overheads are free and the walk is one of `WALKS`.

    `times` and `walk` name what they differ in.
    """
    names = {MENDED: WALKS[False], RELEASED: WALKS[True]}
    alone = table[~table["overheads"] & (table["scheduler"] == "astraea-released")]
    return alone.assign(times=alone["minutes"].map(TIMES), walk=alone["variant"].map(names))


def changed_loss(alone: pd.DataFrame) -> pd.DataFrame:
    """Return the change of sharing loss by the skipped neighbour by seed of `walked`: columns times, seed, change."""
    wide = alone.pivot_table(index=["times", "seed"], columns="walk", values="sharing_loss")
    return (wide[WALKS[True]] - wide[WALKS[False]]).rename("change").reset_index()
