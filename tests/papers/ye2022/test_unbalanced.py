"""Fig 4: which tenants and days are shown, and what is said of them."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.units import DAY, HOUR
from astraea.traces.trace import Trace
from papers.ye2022.characterize import SMALL_TIME, described_workload
from papers.ye2022.evaluation import load_workload
from papers.ye2022.unbalanced import Unbalanced, day_name, picture, sentence, table, unbalanced


def two(rows: list[tuple[str, float, float]], origin: pd.Timestamp | None = None) -> tuple[Trace, Unbalanced]:
    """Jobs on the 8 GPUs that each of two tenants owns: tenant, submission, running time [d]."""
    jobs = pd.DataFrame(rows, columns=["tenant", "submit_time", "duration"])
    jobs[["submit_time", "duration"]] *= DAY
    jobs = jobs.assign(job_id=[str(k) for k in range(len(jobs))], demand=8)
    trace = Trace.from_frame(jobs, name="two", weights={"a": 1.0, "b": 1.0}, origin=origin)
    return trace, unbalanced(trace, simulate(trace, Cluster(nodes=2), "yarn-cs"))


SWAPPED = [("a", 0.0, 0.5), ("b", 1.0, 1.0), ("a", 2.0, 1.0), ("a", 3.0, 0.5), ("b", 3.0, 0.1), ("a", 4.0, 0.1)]


def test_two_tenants_change_places() -> None:
    trace, found = two(SWAPPED)
    assert found.tenants == ("a", "b") and found.swap is not None
    assert (found.swap.day_1, found.swap.day_2, found.swap.is_full) == (1, 2, True)
    assert sentence(found, trace) == (
        "a and b change places between day 1 and day 2: one is below 50% while the other is above 90%, on both days."
    )
    fig = picture(found, trace)
    assert [text.get_text() for text in fig.axes[0].texts] == ["day 1\nA: 0 %\nB: 100 %", "day 2\nA: 100 %\nB: 0 %"]
    plt.close(fig)
    rows = table(found)
    assert list(rows) == ["tenant", "day", "utilization", "time", "hourly_utilization"]
    assert rows["utilization"].notna().sum() == 2 * 4 and rows["hourly_utilization"].notna().sum() == 2 * 4 * 24


def test_without_a_swap_the_extremes_are_shown() -> None:
    trace, found = two([("a", 0.0, 3.0), ("b", 0.0, 0.5), ("a", 3.0, 0.1)])
    assert found.swap is None and found.tenants == ("b", "a")
    assert sentence(found, trace).startswith("No two tenants change places")
    fig = picture(found, trace)
    assert not fig.axes[0].texts
    plt.close(fig)


@pytest.mark.parametrize(("origin", "name"), [(None, "day 2"), (pd.Timestamp("2020-06-08"), "June 10, day 2")])
def test_days_have_dates_where_they_are_known(origin: pd.Timestamp | None, name: str) -> None:
    assert day_name(two(SWAPPED, origin)[0], 2) == name


def test_what_notebook_01_describes() -> None:
    whole, _ = load_workload("venus")
    small, cluster = described_workload("venus", "small")
    assert cluster == Cluster(133) and described_workload("venus")[0] is whole
    assert len(small) == (whole.submit_time < SMALL_TIME).sum()
    assert SMALL_TIME - HOUR < small.submit_time.max() < SMALL_TIME
