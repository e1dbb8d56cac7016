"""Overheads that were measured on training scripts, and what they make of the choice of a lease term."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pandas as pd

from astraea.cluster.settings import Settings
from astraea.experiments.lease_term import lease_means, recommended_term

PARTS: Final = ("cold_start", "restore", "save", "lost")
"""Measures of a lease, each with median, least and most [s]."""


def measurements(folder: Path) -> pd.DataFrame:
    """Medians [s] of what `ops/docs/live/measure_overheads.py` wrote into a folder, a row for each file.

    Columns: what is measured (`PARTS`), the two overheads of `Settings`, state [MiB], device.
    """
    rows = {}
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        paid = {name: found[name] for name in ("checkpoint_overhead", "restart_overhead")}
        about = {"state": found["state_bytes"] / 2**20, "device": found["device"]}
        rows[path.stem] = {part: found[part]["median"] for part in PARTS} | paid | about
    return pd.DataFrame.from_dict(rows, orient="index")


def cases(measured: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the two overheads [s] of each case, by its name: first those that simulations assume, then `measured`."""
    usual, names = Settings(), ("checkpoint_overhead", "restart_overhead")
    assumed = f"assumed, {usual.checkpoint_overhead:g} and {usual.restart_overhead:g} s"
    found: dict[str, dict[str, float]] = {assumed: {}}
    for name, one in measured.iterrows():
        save, restart = (float(one[column]) for column in names)
        found[f"{name}, {save:.2g} and {restart:.2g} s"] = dict(zip(names, (save, restart), strict=True))
    return found


def recommendations(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Each case of `by` (the index): columns recommended, best [s], then the measures at the recommended lease term."""
    rows = {}
    for case, part in frame.groupby(by, sort=False):
        term, _ = recommended_term(part)
        means, best = lease_means(part)
        rows[case] = {"recommended": term, "best": best, **means.loc[term]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)
