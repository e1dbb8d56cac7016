"""Changes since the last audit: waits, GPU-time owed and attained, utilization and causes, by tenant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from astraea.core.checks import is_number, number
from astraea.core.errors import InputError
from astraea.core.wording import SECONDS, duration_text, unit_for
from astraea.traces.readers.table import read_json
from astraea_ops.audit.audit import NAMELESS, Audit
from astraea_ops.audit.sections import Part, section, table_of, time_by_cause

NOTED: Final = 3
"""Number of tenants with a sentence, those whose waits changed most."""

OF_TENANT: Final = ("wait", "got", "owed", "rho")
"""Figures of a tenant: average wait [s], GPU-time got and owed [GPU-h], and their ratio."""


def figures(found: Audit) -> dict[str, Any]:
    """Return the figures of an audit with which the next one is compared; an undefined figure is None."""
    origin, months = found.trace.origin, found.by_month
    count = months["jobs"] + months["waiting"]
    waited = (months["mean_wait"] * count).groupby(months["tenant"]).sum() / count.groupby(months["tenant"]).sum()
    whole = found.owed[found.owed["period"] == 0].set_index("tenant").assign(wait=waited)
    return {
        "trace": found.trace.name,
        "from": None if origin is None else f"{origin:%Y-%m-%d}",
        "until": None if origin is None else f"{origin + pd.Timedelta(seconds=found.end):%Y-%m-%d}",
        "average_wait": found.calibration.recorded,  # s
        "utilization": _defined(found.utilization),
        "tenants": {
            str(name): {c: _defined(float(row[c])) for c in OF_TENANT} for name, row in whole.iterrows()
        },
        "causes": {str(cause): float(seconds) for cause, seconds in time_by_cause(found).items()},
    }  # fmt: skip


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_last(path: Path) -> dict[str, Any]:
    """Read the figures in the ``audit.json`` of an earlier audit; `InputError` if it has none."""
    told = read_json(path)
    last = told.get("figures") if isinstance(told, dict) else None
    if not isinstance(last, dict):
        raise InputError(f"{path}: expected the audit.json of an earlier audit, with an object 'figures'")
    for name in ("tenants", "causes"):
        if not isinstance(last.get(name), dict):
            raise InputError(f"{path}: figures.{name} must be an object, got {last.get(name)!r:.60}")
    numbers = {name: last.get(name) for name in ("average_wait", "utilization")}
    for tenant, row in last["tenants"].items():
        for column in OF_TENANT:
            numbers[f"tenants.{tenant}.{column}"] = row.get(column) if isinstance(row, dict) else str(row)
    for name, value in numbers.items():
        if value is not None and not is_number(value):
            raise InputError(f"{path}: figures.{name} must be a number or null, got {value!r:.60}")
    for cause, seconds in last["causes"].items():
        number(seconds, f"{path}: figures.causes.{cause}", expected="a number")
    return last


def changes(last: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what changed, the whole log first, then the tenants whose waits changed most, then the largest cause."""
    when = f" ({last['from']} to {last['until']})" if last.get("from") else ""
    old, new = last["average_wait"], now["average_wait"]
    by = f" ({100 * (new / old - 1):+.0f} %)" if old else ""
    lines = [
        f"Since the last audit{when}, the average wait went from {_time(old)} to {_time(new)}{by}, and the use of the "
        f"cluster's GPU-time from {_part(last['utilization'])} to {_part(now['utilization'])}."
    ]
    before, after = _tenants(last), _tenants(now)
    both = after.add_suffix("_now").join(before.add_suffix("_last"), how="inner")
    moved = (both["wait_now"] - both["wait_last"]).abs().sort_values(ascending=False, kind="stable")
    for tenant in moved[moved > 0].index[:NOTED]:
        row = both.loc[tenant]
        lines.append(
            f"{tenant} now waits {_time(row['wait_now'])} on average, after {_time(row['wait_last'])} before, and got "
            f"{_part(row['rho_now'])} of what it was owed, after {_part(row['rho_last'])} before."
        )
    causes, were = _shares(now), _shares(last)
    if len(causes) and len(were):
        first, was = str(causes.idxmax()), str(were.idxmax())
        same = f"is still “{first}”" if was == first else f"was “{was}” and is “{first}”"
        lines.append(
            f"The largest cause of waiting {same}, with {_part(causes[first])} of the explained waiting time, after "
            f"{_part(were.get(first, 0.0))} before."
        )
    for what, names in (("new", after.index.difference(before.index)),
                        ("no longer in this log", before.index.difference(after.index))):  # fmt: skip
        if len(names):
            lines.append(f"Tenants that are {what}: {', '.join(map(str, names))}.")
    if NAMELESS in (last.get("trace"), now["trace"]):
        lines.append("Names are replaced by letters, which stand for the same tenants only if both logs have the same.")
    return lines


def changed(last: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Make the section of the page: changes in words, and by tenant and cause."""
    tenants = pd.concat([_tenants(last).add_suffix(" before"), _tenants(now).add_suffix(" now")], axis=1).sort_index()
    unit = unit_for(float(tenants[["wait now", "wait before"]].max().max()))
    columns = {
        f"{name} {when}{scale}": tenants[f"{column} {when}"] / factor
        for column, name, scale, factor in (
            ("wait", "average wait", f" [{unit}]", SECONDS[unit]), ("owed", "owed", " [GPU\u2011h]", 1.0),
            ("got", "got", " [GPU\u2011h]", 1.0), ("rho", "got / owed", "", 1.0),
        )
        for when in ("before", "now")
    }  # fmt: skip
    parts: list[Part] = [
        {"lines": changes(last, now)}, table_of(pd.DataFrame(columns).rename_axis("tenant").reset_index())
    ]  # fmt: skip
    shares = pd.DataFrame({"before [%]": _shares(last), "now [%]": _shares(now)}).fillna(0.0) * 100
    if len(shares):
        parts += ["Causes of the explained waits, in percent of their time:",
                  table_of(shares.round(0).rename_axis("cause").reset_index())]  # fmt: skip
    return section("What changed since the last audit", *parts)


def _tenants(of: Mapping[str, Any]) -> pd.DataFrame:
    table = pd.DataFrame.from_dict(of["tenants"], orient="index", columns=list(OF_TENANT))
    return table.astype(float).sort_index()


def _shares(of: Mapping[str, Any]) -> pd.Series[float]:
    """Return each cause's part of the explained time; empty if no job waited."""
    total = sum(of["causes"].values())
    parts = {cause: seconds / total for cause, seconds in of["causes"].items() if total > 0}
    return pd.Series(list(parts.values()), index=list(parts), dtype=float)


def _part(value: float | None) -> str:
    return "an unknown part" if value is None or math.isnan(value) else f"{100 * value:.0f} %"


def _time(value: float | None) -> str:
    return "an unknown time" if value is None or math.isnan(value) else duration_text(value)
