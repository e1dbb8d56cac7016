"""Fig 4 of [Ye2022]: two tenants whose virtual clusters change places, one idle and the other full, and back again."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from astraea.core.result import Result
from astraea.core.units import DAY
from astraea.plots import style
from astraea.traces.trace import Trace
from papers import charts
from papers.charts.axes import WIDTH
from papers.ye2022.characterize import HIGH, LOW, Swap, tenant_utilization, widest_swap


class Unbalanced(NamedTuple):
    """Two tenants of a simulation."""

    tenants: tuple[str, str]
    swap: Swap | None
    daily: pd.DataFrame  # tenant, day, utilization
    hourly: pd.DataFrame  # time [s], tenant, utilization


def unbalanced(trace: Trace, result: Result) -> Unbalanced:
    """Return the tenants of `widest_swap`, otherwise those that use least and most of their quota on the last day."""
    daily = tenant_utilization(trace, result, step=DAY)
    swap = widest_swap(daily)
    last_day = daily[daily["time"] == daily["time"].max()].sort_values("utilization", kind="stable")
    pair = swap[:2] if swap else (str(last_day["tenant"].iloc[0]), str(last_day["tenant"].iloc[-1]))
    both = daily[daily["tenant"].isin(pair)]
    both = both.assign(day=(both["time"] // DAY).astype(int))[["tenant", "day", "utilization"]]
    hourly = tenant_utilization(trace, result)
    return Unbalanced(pair, swap, both, hourly[hourly["tenant"].isin(pair)])


def table(found: Unbalanced) -> pd.DataFrame:
    """Return the table of Fig 4, by day and below it by hour: tenant, day, utilization, time, hourly_utilization."""
    hourly = found.hourly.rename(columns={"utilization": "hourly_utilization"})
    return pd.concat([found.daily, hourly], ignore_index=True)


def day_name(trace: Trace, day: int) -> str:
    """Write a day of a trace, counted from 0, with its date if that is known."""
    if trace.origin is None:
        return f"day {day}"
    date = pd.Timestamp(trace.origin) + pd.Timedelta(days=day)
    return f"{date.month_name()} {date.day}, day {day}"


def picture(found: Unbalanced, trace: Trace) -> Figure:
    """Draw utilization by the hour; the two days are shaded, with the means of both tenants above."""
    called = {name: f"Tenant {letter} ({name[:8]})" for name, letter in zip(found.tenants, "AB", strict=True)}
    lines = found.hourly.assign(tenant=found.hourly["tenant"].map(called)).sort_values(["tenant", "time"])
    means = found.daily.set_index(["day", "tenant"])["utilization"]
    fig, ax = charts.panels(width=WIDTH, height=2.6)
    charts.timeseries(lines, "utilization", by="tenant", ax=ax)
    with style():
        ax.set_ylim(0, 1.02)
        for day in (found.swap.day_1, found.swap.day_2) if found.swap else ():
            ax.axvspan(day * DAY, (day + 1) * DAY, color="#DDDDDD", alpha=0.5, zorder=0)
            text = [f"{letter}: {100 * means[day, name]:.0f} %" for name, letter in
                    zip(found.tenants, "AB", strict=True)]  # fmt: skip
            ax.text((day + 0.5) * DAY, 1.04, "\n".join([day_name(trace, day), *text]), ha="center", fontsize=8)
    charts.footnote(fig, "A full virtual cluster stays below 100 %: the next job needs more GPUs than are left.")
    charts.legend(fig, headline="One tenant's GPUs lie idle while another's are full, and later the reverse"
                  if found.swap and found.swap.is_full else "How do two tenants use their own GPUs?")  # fmt: skip
    return fig


def sentence(found: Unbalanced, trace: Trace) -> str:
    """Say which tenants and days are shown, and why these."""
    swap = found.swap
    if swap is None:
        return ("No two tenants change places between two full days of this trace. Shown are those with the lowest "
                "and the highest utilization on its last day.")  # fmt: skip
    days = f"{day_name(trace, swap.day_1)} and {day_name(trace, swap.day_2)}"
    sure = "on both days" if swap.is_full else "but not on both days"
    return (f"{swap.tenant_a} and {swap.tenant_b} change places between {days}: one is below {LOW:.0%} while the "
            f"other is above {HIGH:.0%}, {sure}.")  # fmt: skip
