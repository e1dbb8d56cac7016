"""Measured and simulated runs side by side: orders, times, overheads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.metrics import average_jct, sharing_loss
from papers.ye2022.live.tables import (
    ASTRAEA,
    INTERVAL,
    NONE,
    Delays,
    Repetition,
    delays,
    grants,
    measured,
    simulated,
    worked,
)


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
