"""The workloads that `papers.ye2022.falsifier` found: why each reverses its ordering, as tables and Gantt charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea import textbook
from astraea.core.metrics import SHARING_LOSS, SLACK, tenant_windows
from astraea.core.result import Result
from astraea.core.units import HOUR, MINUTE
from astraea.core.wording import listed
from astraea.plots import OTHERS, look
from papers.schedules import Pair, pairs, wrapped
from papers.ye2022.falsifier import LEASE, MEASURES, SmallWorkload, measured, run, workload_of
from papers.ye2022.readings import PAPERS

HEADLINES: Final = dict(zip(
    MEASURES, ("more jobs are short", "tenants are short in more hours", "the slowdown is higher", "JCT is longer"),
    strict=True
))  # fmt: skip
"""Words for a measure that is worse under ASTRAEA."""


def by_textbook(
    w: SmallWorkload, policy: Callable[[textbook.Simulation], list[textbook.Job]] = textbook.astraea
) -> dict[str, Any]:
    """Simulate a workload with `astraea.textbook`, under ASTRAEA unless another policy is given."""
    jobs = [textbook.JobSpec(j.tenant, j.demand, int(LEASE) * j.submit, int(LEASE) * j.duration) for j in w.jobs]
    return textbook.simulate(
        jobs, w.nodes, w.gpus_per_node, [1] * w.tenants, policy,
        lease_term=LEASE, interval=LEASE, checkpoint_overhead=0, restart_overhead=0,
    )  # fmt: skip


def examples(found: pd.DataFrame) -> pd.DataFrame:
    """One row per ordering, from a reading's rows of the table of `falsifier.found`.

    Columns measure, rival, instances, behind, equal, ahead are about the random workloads. The others are about the
    smallest reversal: jobs, tenants, gpus, astraea and other (the measure under ASTRAEA and under the rival; times in
    s), rule and why as of `why`. Without one, they are NaN and a sentence that says so.
    """
    rows = []
    for measure in MEASURES:
        for group, part in found[found["measure"] == measure].groupby(["reading", "rival"], sort=False):
            reading, rival = map(str, group)
            row = {"measure": measure, "rival": rival, **part[["instances", "behind", "equal", "ahead"]].iloc[0]}
            if part["nodes"].isna().all():
                rows.append({**row, "why": f"None of {row['instances']:,} random workloads reverses it."})
                continue
            w, k = workload_of(part), MEASURES.index(measure)
            row |= {"jobs": len(w.jobs), "tenants": w.tenants, "gpus": w.gpus}
            row |= {"astraea": measured(w, "astraea", reading)[k], "other": measured(w, rival, reading)[k]}
            row["rule"], row["why"] = why(w, rival, measure, reading)
            rows.append(row)
    columns = ["jobs", "tenants", "gpus", "astraea", "other", "rule", "why"]
    return pd.DataFrame(rows).reindex(columns=["measure", "rival", "instances", "behind", "equal", "ahead", *columns])


def job_table(found: pd.DataFrame) -> pd.DataFrame:
    """The jobs of every workload found: measure, rival, nodes, gpus_per_node, job_id, tenant, demand, times in s."""
    there = found.dropna(subset="nodes")
    parts = [
        part[["measure", "rival", "nodes", "gpus_per_node"]].reset_index(drop=True).join(
            workload_of(part).trace.frame[["job_id", "tenant", "demand", "submit_time", "duration"]])
        for _, part in there.groupby(["measure", "rival"], sort=False)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


RULES: Final = ("the tenant that has had less", "new jobs first", "the job that has had less", "no overtaking", "ties")
"""Algorithm 1, line 5; §6.1.1; Algorithm 2; Algorithm 1, line 16, which closes a tenant whose next job does not fit;
and whoever comes first among equals."""


def why(w: SmallWorkload, rival: str, measure: str, reading: str = PAPERS) -> tuple[str, str]:
    """Return which of `RULES` parts the schedules, and in a sentence where, and what becomes of the measure.

    The rule is empty for the authors' program, which has more rules than the paper.
    """
    ours, theirs = (run(w, name, reading, keep_log=True) for name in ("astraea", rival))
    rule, text = _parting(w, ours, theirs, plain(rival), reading)
    return rule, f"{text}. {_outcome(measure, ours, theirs, plain(rival))}."


def plain(scheduler: str) -> str:
    """A scheduler's name in a text without formulas."""
    return look(scheduler).label.replace(r"$_{\mathrm{fair}}$", "_fair")


def _parting(w: SmallWorkload, ours: Result, theirs: Result, rival: str, reading: str) -> tuple[str, str]:
    """Return which of `RULES` gives the first lease at which the schedules differ, and why, in words.

    For another ASTRAEA than the printed one, return no rule, and the jobs alone.
    """
    time, (a, b) = next(
        (t, held)
        for t in np.arange(0, ours.makespan, LEASE)
        if (held := (_holders(ours, t), _holders(theirs, t))) and held[0] != held[1]
    )
    mine, other = sorted(a - b), sorted(b - a)
    at = f"At {time / MINUTE:g} min ASTRAEA"
    if reading != PAPERS:
        runs = [listed(jobs) or "nothing more" for jobs in (mine, other)]
        return "", f"{at} runs {runs[0]}, and {rival} runs {runs[1]}"
    seen: list[tuple[list[textbook.Exact], dict[str, tuple[bool, textbook.Exact, int]]]] = []

    def watched(s: textbook.Simulation) -> list[textbook.Job]:
        if s.now == time:
            order = {chr(65 + j.index): (j.leases > 0, textbook.rho_job(j), j.index) for j in s.candidates}
            seen.append(([tenant.attained for tenant in s.tenants], order))
        return textbook.astraea(s)

    by_textbook(w, watched)
    attained, order = seen[0]
    tenant = {chr(65 + k): job.tenant for k, job in enumerate(w.jobs)}
    first = min(other or mine, key=lambda job: order[job])
    queue = [job for job in order if tenant[job] == tenant[first] and job not in a]
    waits = min(queue, key=lambda job: order[job], default="")
    blocked = f"{waits} is next of tenant {tenant[first] + 1} and does not fit"
    if not mine:
        return RULES[3], f"{at} leaves GPUs idle because {blocked}; {rival} runs {listed(other)}"
    x = min(mine, key=lambda job: order[job])
    have, has = (float(attained[tenant[job]]) / MINUTE for job in (x, first))
    if tenant[x] != tenant[first] and have < has:
        rule, reason = RULES[0], f"tenant {tenant[x] + 1} has had less, {have:g} against {has:g} GPU-min"
    elif other and waits != first:
        rule, reason = RULES[3], blocked
    elif tenant[x] != tenant[first]:
        rule, reason = RULES[4], "tenants {} and {} are level".format(*sorted((tenant[x] + 1, tenant[first] + 1)))
    elif order[x][0] != order[first][0]:
        rule, reason = RULES[1], f"{x} is new"
    elif order[x][1] != order[first][1]:
        rhos = " against ".join(f"{float(order[job][1]):.2f}" for job in (x, first))
        rule, reason = RULES[2], f"{x} has had less of its share, {rhos}"
    else:
        rule, reason = RULES[4], f"{x} came first"
    there = f"runs {listed(other)}" if other else "leaves GPUs idle"
    return rule, f"{at} runs {listed(mine)} because {reason}; {rival} {there}"


def _holders(result: Result, time: float) -> set[str]:
    """Jobs that hold GPUs from a time on."""
    return set(result.log.loc[(result.log["start"] <= time) & (time < result.log["end"]), "job_id"])


def _outcome(measure: str, ours: Result, theirs: Result, rival: str) -> str:
    if measure == "tenant_sharing_loss":
        texts = [_cases(result) or "none" for result in (ours, theirs)]
        return f"Tenants below their share: {texts[0]} under ASTRAEA, {texts[1]} under {rival}"
    a, b = (result.jobs.set_index("job_id") for result in (ours, theirs))
    if measure == "sharing_loss":
        losers = [x["rho_job"][x["rho_job"] < SHARING_LOSS] for x in (a, b)]
        texts = [listed(f"{job} ({rho:.2f})" for job, rho in x.items()) or "none" for x in losers]
        return f"Jobs below 0.95 of their share: {texts[0]} under ASTRAEA, {texts[1]} under {rival}"
    more = (a["end_time"] - b["end_time"]) / MINUTE
    late, soon = (listed(f"{job} by {m:g} min" for job, m in abs(x).items()) for x in (more[more > 0], more[more < 0]))
    return f"Later than under {rival}: {late}{f'; earlier: {soon}' if soon else ''}"


def _cases(result: Result) -> str:
    """Tenants and hours below the tenant's share, with the part that it gets."""
    cases = tenant_windows(result, window=HOUR)
    low = cases[cases["rho_tenant"] < 1 - SLACK]
    columns = (low["tenant"], low["window_end"] / HOUR, low["rho_tenant"])
    return listed(f"tenant {name} in hour {hour:g} ({rho:.2f})" for name, hour, rho in zip(*columns, strict=True))


def page(found: pd.DataFrame, measure: str, rivals: Sequence[str] = ()) -> Figure:
    """Draw the workloads that reverse the orderings of a measure, all rivals or some, one below the other.

    Each is a schedule of ASTRAEA, one of the rival, and the jobs with the sentence of `why`.
    """
    mine = found[found["measure"] == measure]
    mine = mine[mine["rival"].isin(rivals)] if rivals else mine
    return _page(mine, f"Small workloads on which {HEADLINES[measure]} under ASTRAEA than under a rival")


def smallest(found: pd.DataFrame) -> Figure:
    """Draw, for each measure, the workload of fewest jobs that reverses one of its orderings."""
    rows = found.dropna(subset="nodes")
    jobs = rows.groupby(["measure", "rival"], sort=False).size()
    first = rows.set_index(["measure", "rival"]).loc[[jobs[[m]].idxmin() for m in MEASURES if m in jobs]].reset_index()
    return _page(first, "Small workloads on which the ASTRAEA of the authors' program is behind a rival")


def _page(found: pd.DataFrame, headline: str) -> Figure:
    some = []
    for ordering, part in found.dropna(subset="nodes").groupby(["measure", "reading", "rival"], sort=False):
        measure, reading, rival = map(str, ordering)
        w, names = workload_of(part), ("astraea", rival)
        values = [_value(measure, measured(w, name, reading)[MEASURES.index(measure)]) for name in names]
        titles = [f"{look(name).label}: {value}" for name, value in zip(names, values, strict=True)]
        grants = [run(w, name, reading, keep_log=True).log for name in names]
        listing = partial(_listing, w=w, text=why(w, rival, measure, reading)[1])
        some.append(Pair(titles, grants, w.gpus, listing))
    return pairs(some, headline, by="tenant", step=LEASE, width=1.4)


def _value(measure: str, value: float) -> str:
    if measure == "average_jct":
        return f"JCT {value / MINUTE:.4g} min"
    if measure == "average_slowdown":
        return f"slowdown {value:.3g}"
    return f"{100 * value:.3g} % {'of jobs' if measure == 'sharing_loss' else 'of cases'}"


def _listing(ax: Axes, w: SmallWorkload, text: str) -> None:
    """The jobs of a workload as a table, and below it the sentence."""
    minutes = LEASE / MINUTE
    lines = [("job", "tenant", "GPUs", "submitted", "runs"), *(
        (chr(65 + i), f"{j.tenant + 1}", f"{j.demand}", f"{minutes * j.submit:g} min", f"{minutes * j.duration:g} min")
        for i, j in enumerate(w.jobs))]  # fmt: skip
    for i, line in enumerate(lines):
        for k, (x, cell) in enumerate(zip((0.04, 0.22, 0.4, 0.68, 0.98), line, strict=True)):
            color = OTHERS[int(line[1]) - 1] if i and not k else "none"
            ax.annotate(cell, (x, 1), (0, 6 - 11 * i), xycoords="axes fraction", textcoords="offset points",
                        fontsize=7.2, ha="right" if k else "center", va="top", color="black" if i else "#444444",
                        bbox={"facecolor": color, "alpha": 0.55, "linewidth": 0, "pad": 1.0})  # fmt: skip
    ax.annotate(wrapped(text, 50), (0.0, 1), (0, 2 - 11 * len(lines)), xycoords="axes fraction",
                textcoords="offset points", fontsize=7, va="top")  # fmt: skip
