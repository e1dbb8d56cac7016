"""The rules that papers share; the rules of one paper alone are in `rules.py` of its folder.

A rule is a public function of such a module. It takes a `Source` and the parameters that the paper's `claims.toml`
gives by name, returns `Judged`, and raises `Missing`. Its docstring defines "holds" and "holds in direction", or names
a relation that `judging` grades; anything else does not hold.

A rule that one statement alone uses is a function, too, and not an expression in `claims.toml`. So it has a docstring,
types and tests like the others, and the hash of the rules covers it without its comments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.judging import (
    Judged,
    Measured,
    Missing,
    Source,
    alike,
    as_text,
    at_most,
    below,
    equal,
    graded,
    number,
    setting,
    trend,
)  # fmt: skip


def share(source: Source, *, column: str = "share", rest: bool = False, points: float | None = None) -> Judged:
    """``=``: the shares of all rows together, or with `rest` what they leave; mean over seeds."""
    rows = source(column)
    found = float(rows[column].sum()) / (rows["seed"].nunique() if "seed" in rows else 1)
    return equal(source, 100 * (1 - found if rest else found), "%", points)


def ratio(
    source: Source, *, by: str, column: str, of: Any, to: Any, smallest: bool = False, close: bool = False
) -> Measured:
    """``=``, or ``close to`` with `close`: the mean over seeds of one scheduler, policy or lease term over another's.

    Of a list, the largest mean counts, or with `smallest` the smallest.
    """
    listed = of if isinstance(of, list) else [of]
    got = source.means(column, *listed, to, by=by)
    found = float((got[listed].min() if smallest else got[listed].max()) / got[to])
    return (number(found, "x"), alike(found), found) if close else equal(source, found, "x")


def bounded(source: Source, *, column: str, by: Sequence[str], is_ratio: bool = True, unit: str = "") -> Judged:
    """``<=``: the largest mean over seeds or trials of all settings."""
    got = float(source(*by, column).groupby(list(by))[column].mean().max())
    return number(got, unit), at_most(got, source.paper, is_ratio=is_ratio), got


def lowest_of(source: Source, *, column: str, ours: str, others: Sequence[str], highest: bool = False) -> Judged:
    """``ordering``: one has a lower mean over seeds or trials than each other, or a higher one with `highest`."""
    got = source.means(column, ours, *others)
    shown = ", ".join(f"{name} {as_text(got[name], column)}" for name in (ours, *others))
    pair = got[ours], got[list(others)]
    return shown, below(*(reversed(pair) if highest else pair))


def monotone(source: Source, *, by: str, column: str, rising: bool, every: bool = False) -> Judged:
    """``monotone``: the trend of means over seeds or trials as `by` grows; all of them are shown, or the ends."""
    frame = source(by, column)
    got = frame[np.isfinite(frame[by])].groupby(by)[column].mean()
    shown = [f"{as_text(y, column)} at {setting(x, by)}" for x, y in got.items()]
    return ", ".join(shown if every else (shown[0], shown[-1])), trend(got.tolist(), rising)


def lowest_inside(
    source: Source, *, by: str, columns: list[str], low: float, high: float, rise: float
) -> Judged:
    """``shape``: the means over seeds or trials are lowest between two values near the paper's, and rise to both ends.

    Several columns count as one, the product of each relative to its smallest value: a trade-off needs one number. The
    means rise to an end if they are higher there by the share `rise`. In direction: they rise to at least one end, and
    are lowest at neither.
    """
    got = source(by, *columns).groupby(by)[columns].mean()
    if len(got) < 3:
        raise Missing(f"there are fewer than three values of {by}")
    curve = got[columns[0]] if len(columns) == 1 else (got / got.min()).prod(axis=1)
    best = float(curve.index[int(curve.argmin())])
    ends = curve.iloc[[0, -1]]
    if len(columns) == 1:
        lowest = as_text(curve.min(), columns[0])
        at_ends = zip(ends.index.tolist(), ends.tolist(), strict=True)
        rest = " and ".join(f"{as_text(y, columns[0])} at {setting(x, by)}" for x, y in at_ends)
    else:
        lowest = f"{curve.min():.3f}"
        rest = ", ".join(f"{y:.3f} at {x:g}" for x, y in curve.items() if x != best)
    rises = ends >= (1 + rise) * curve.min()
    flat = " and ".join(setting(x, by) for x in ends.index[~rises])
    rest += f"; flat to {flat}, less than {100 * rise:g} % above" if flat else ""
    verdict = graded(bool(rises.all()) and low <= best <= high, bool(rises.any()) and best not in ends.index)
    return f"lowest at {setting(best, by)} with {lowest}; {rest}", verdict, best


def printed_values(source: Source, *, tolerance: float = 0.0, unit: str | None = None) -> Judged:
    """``=``: every value of a worked example that the paper prints, within a tolerance. In direction: within two."""
    frame = source("paper", "value")
    off = float((frame["value"] - frame["paper"]).abs().max())
    shown = ", ".join(f"{v:.2f}" if unit is None else number(v, unit) for v in frame["value"])
    return shown, graded(off <= tolerance + 1e-9, off <= 2 * tolerance)


def no_counter_example(source: Source, *, what: str) -> Judged:
    """``property``: no random instance has it violated."""
    found = source("instances", "violations")
    tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
    if tried < 1:
        raise Missing("no instance was tried")
    return f"violated in {failed:,} of {tried:,} random {what}", graded(failed == 0)
