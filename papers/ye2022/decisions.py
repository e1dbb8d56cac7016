"""Algorithms 1 and 2 of [Ye2022] turn by turn: the computation of each round with pencil and paper.

Nothing is handed over by the scheduler itself: the fairness values are computed again, from the submissions and from
the leases that a simulation has logged, and a test holds the picks against that simulation's.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import RESOLUTION
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray
from astraea.core.units import MINUTE
from astraea.plots import OTHERS, style
from astraea.traces.trace import Trace
from papers.areas import gantt
from papers.charts.axes import WIDTH, name_axis, panels
from papers.layout import quick
from papers.ye2022.examples import NO_OVERHEADS, ROUND, SIX_GPUS

NONE: Final = ""  # no job: all of the tenant's jobs have got leases at this round already
TENANTS: Final = {"vision": "#222222", "speech": "#999999"}  # of the example, and their colours


class Turns(NamedTuple):
    """The inputs and choices of the two algorithms, turn by turn.

    `considered` has the columns time [s], turn, phase (tenant or job), name, rho, is_new, is_picked, and `picks` time,
    turn, free [GPU], tenant, rho_tenant, job_id, rho_job, demand [GPU], is_granted. `rho_job` is NaN for a job that has
    not run yet (it goes first), and where no job is left (`job_id` is `NONE`).
    """

    considered: pd.DataFrame
    picks: pd.DataFrame


def two_tenants() -> Trace:
    """Five jobs of two tenants that own three GPUs each; all times are whole rounds."""
    rows = [("A1", "vision", 3, 0, 40), ("A2", "vision", 2, 0, 30), ("A3", "vision", 1, 0, 40),
            ("B1", "speech", 3, 10, 20), ("B2", "speech", 2, 20, 30)]  # fmt: skip
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    jobs[["submit_time", "duration"]] *= MINUTE
    return Trace.from_frame(jobs, name="example", weights=dict.fromkeys(TENANTS, 1.0))


def two_tenants_turns() -> tuple[Turns, pd.DataFrame]:
    """Turns on six GPUs in `two_tenants`, and the leases that the simulation granted."""
    policy = get_policy("astraea").with_parameters(lease_term=ROUND)
    result = simulate(two_tenants(), SIX_GPUS, policy, settings=NO_OVERHEADS, keep_log=True)
    return turns(two_tenants(), SIX_GPUS, result.log, ROUND), result.log


def turns(trace: Trace, cluster: Cluster, grants: pd.DataFrame, lease_term: float) -> Turns:
    """Replay AllocateJob and SelectJob ([Ye2022] Algorithms 1 and 2, without refinements) at the rounds of a log.

    `grants` are those of a `Result` under this lease term [s], in which no job loses time to checkpoints or restarts;
    only what lies before a round is used to compute its picks.
    """
    considered: list[dict[str, Any]] = []
    picks: list[dict[str, Any]] = []
    for now in sorted(set(grants["start"])):
        _play(trace, cluster.gpus, grants, lease_term, float(now), considered, picks)
    return Turns(pd.DataFrame(considered), pd.DataFrame(picks))


def _play(trace: Trace, gpus: int, grants: pd.DataFrame, lease_term: float, now: float,
          considered: list[dict[str, Any]], picks: list[dict[str, Any]]) -> None:  # fmt: skip
    """Add the turns of the round at `now` [s], rows of `Turns`, to both lists."""
    past = grants[grants["start"] < now]
    held = past[past["end"] > now]
    is_active = (trace.submit_time <= now) & (_left(trace, past, now) > 0)
    waits = is_active & ~np.isin(trace.job_id, held["job_id"])
    attained = past["demand"] * (past["end"].clip(upper=now) - past["start"])
    by_job = attained.groupby(past["job_id"]).sum().reindex(trace.job_id, fill_value=0.0).to_numpy(dtype=float)
    by_tenant = attained.groupby(past["tenant"]).sum().reindex(trace.tenants, fill_value=0.0).to_numpy(dtype=float)
    rho_job = by_job / np.maximum(fair_shares(trace, gpus, past, now), 1e-9)  # a new job has attained nothing
    is_new = ~np.isin(trace.job_id, past["job_id"])
    owed = quotas(trace, gpus) * (now + lease_term)  # Eq. 16
    free, turn = gpus - int(held["demand"].sum()), 0
    closed: set[int] = set()
    left = list(np.flatnonzero(waits))
    waiting = set(trace.tenant[left])
    granted = np.zeros(len(trace.tenants))
    while any(trace.demand[j] <= free for j in left):  # Algorithm 1, line 4
        rho_tenant = (by_tenant + granted * lease_term) / owed
        may = [t for t in sorted(waiting) if t not in closed]
        if not may:
            break
        turn += 1
        t = min(may, key=lambda t: (_level(rho_tenant[t]), t))  # line 5
        mine = [j for j in left if trace.tenant[j] == t]
        j = min(mine, key=lambda j: (not is_new[j], _level(rho_job[j]) if not is_new[j] else 0, j), default=None)
        is_granted = j is not None and bool(trace.demand[j] <= free)  # line 10
        at = {"time": now, "turn": turn}
        considered += [
            {**at, "phase": "tenant", "name": trace.tenants[k], "rho": rho_tenant[k], "is_new": False,
             "is_picked": k == t} for k in may
        ] + [
            {**at, "phase": "job", "name": trace.job_id[k], "rho": rho_job[k], "is_new": bool(is_new[k]),
             "is_picked": k == j} for k in mine
        ]  # fmt: skip
        picks.append({**at, "free": free, "tenant": trace.tenants[t], "rho_tenant": rho_tenant[t],
                      "job_id": NONE if j is None else trace.job_id[j],
                      "rho_job": np.nan if j is None or is_new[j] else rho_job[j],
                      "demand": 0 if j is None else int(trace.demand[j]), "is_granted": is_granted})  # fmt: skip
        if j is not None and is_granted:  # lines 11 to 15
            left.remove(j)
            granted[t] += trace.demand[j]
            free -= int(trace.demand[j])
        else:  # lines 16, 17
            closed.add(int(t))


def fair_shares(trace: Trace, gpus: int, grants: pd.DataFrame, now: float) -> FloatArray:
    """Return GPU-time that each job was owed until `now` ([Ye2022] Eqs. 8, 13, 14) [GPU-s], shape (n,).

    `grants` are the leases up to then, which tell when jobs have ended.
    """
    left, last = _left(trace, grants, now), grants.groupby("job_id")["end"].max()
    ends = np.where(left > 0, now, last.reindex(trace.job_id, fill_value=now).to_numpy(dtype=float))
    begin = np.minimum(trace.submit_time, now)
    edges = np.unique(np.concatenate([begin, ends, [now]]))
    quota, owed = quotas(trace, gpus), np.zeros(len(trace))
    for first, last in pairwise(edges):
        active = (begin <= first) & (ends >= last)
        for t in range(len(trace.tenants)):
            of = active & (trace.tenant == t)
            if of.any():
                share = min(float(trace.demand[of].sum()), quota[t]) / int(of.sum())
                owed[of] += np.minimum(trace.demand[of], share) * (last - first)
    return owed


def _left(trace: Trace, past: pd.DataFrame, now: float) -> FloatArray:
    """Return the service that each job still needs [s], 0 if it has ended."""
    executed = (past["end"].clip(upper=now) - past["start"]).groupby(past["job_id"]).sum()
    left = trace.duration - executed.reindex(trace.job_id, fill_value=0.0).to_numpy(dtype=float)
    return np.where(left > 1e-6, left, 0.0)


def _level(rho: Any) -> float:
    """Round to the resolution at which the scheduler compares."""
    return float(np.floor(rho * RESOLUTION + 0.5))


def written_out(found: Turns, time: float | None = None) -> pd.DataFrame:
    """Return every turn, or those of one round [s], in a reader's notation: a row per turn, all of it text."""
    picks = found.picks if time is None else found.picks[found.picks["time"] == time]
    looked = found.considered.set_index(["time", "turn", "phase"]).sort_index()
    rows = []
    pick: Any
    for pick in picks.itertuples():
        both = [_listed(looked, pick.time, pick.turn, phase) for phase in ("tenant", "job")]
        why = f"{pick.job_id} gets {pick.demand}" if pick.is_granted else f"{pick.job_id} wants {pick.demand}: no"
        rows.append((f"{pick.time / MINUTE:g}", f"{pick.turn}", f"{pick.free}", both[0], pick.tenant, both[1],
                     why if pick.job_id else "all its jobs have leases"))  # fmt: skip
    columns = ["minute", "turn", "free", "ρ of tenants", "tenant", "ρ of its jobs", "outcome"]
    return pd.DataFrame(rows, columns=columns).set_index(["minute", "turn"])


def _listed(looked: pd.DataFrame, time: float, turn: int, phase: str) -> str:
    if (time, turn, phase) not in looked.index:
        return ""
    part = looked.loc[[(time, turn, phase)]]
    return ", ".join(
        f"{name} {'new' if new else format(rho, '.2f')}"
        for name, rho, new in zip(part["name"], part["rho"], part["is_new"], strict=True)
    )


def rounds_picture(found: Turns, grants: pd.DataFrame, time: float | None = None) -> Figure:
    """Draw the holders of the GPUs, and below them the fairness values at each round's start; one round may be marked.

    `grants` are those of `two_tenants_turns`; the mark of a tenant or job is filled where it got a lease.
    """
    first = found.considered.drop_duplicates(["time", "phase", "name"])
    won = found.picks[found.picks["is_granted"]]
    fig, axes = panels(rows=3, width=WIDTH, height=1.6)
    gantt(grants, axes[0], gpus=SIX_GPUS.gpus)
    with style():
        for ax, phase, key in ((axes[1], "tenant", "tenant"), (axes[2], "job", "job_id")):
            part = first[first["phase"] == phase]
            for k, (name, rows) in enumerate(part.groupby("name", sort=phase == "job")):
                color = TENANTS[str(name)] if phase == "tenant" else OTHERS[k]
                got = rows["time"].isin(won.loc[won[key] == name, "time"]).to_numpy()
                ax.plot(rows["time"], rows["rho"], color=color, linewidth=1.2, label=str(name))
                for which, filling in ((got, color), (~got, "white")):
                    ax.plot(rows["time"][which], rows["rho"][which], "o", color=color, markerfacecolor=filling)
            ax.set_ylabel(rf"$\rho$ of {phase}s")
            ax.set_ylim(bottom=-0.15)
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for ax in axes:
            ax.set_xlim(0, grants["end"].max())
            name_axis(ax.xaxis, "time")
            if time is not None:
                ax.axvspan(time, time + ROUND, color="#DDDDDD", alpha=0.6, zorder=0)
        for ax in axes[:2]:
            ax.set_xlabel("")
    return quick(fig, right=0.85, bottom=0.1, top=0.98, hspace=0.2)
