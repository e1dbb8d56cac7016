"""Pictures for the notebooks: what they say is what the tables and results have."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.units import HOUR
from astraea.experiments.lease_term import FIGURES
from astraea.traces.trace import Trace
from papers.ye2022 import close_ups, one_tenant

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def trace_of(*jobs: tuple[str, int, float]) -> Trace:
    """Jobs of a tenant each, with their gangs [GPU] and running times [h], all submitted at 0."""
    rows = [(f"j{k}", tenant, demand, 0.0, hours * HOUR) for k, (tenant, demand, hours) in enumerate(jobs)]
    columns = ["job_id", "tenant", "demand", "submit_time", "duration"]
    return Trace.from_frame(pd.DataFrame(rows, columns=columns), name="made")


def texts(fig: Figure) -> str:
    found = " ".join(text.get_text() for text in fig.findobj(matplotlib.text.Text))
    return found.replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def test_jobs_with_many_gpus_are_compared_with_all() -> None:
    trace = trace_of(("a", 1, 0.5), ("a", 1, 0.5), ("a", 8, 2), ("a", 16, 0.5))
    said = "2 jobs with at least 8 GPUs: 50 % run for more than an hour, of all jobs 25 %"
    assert close_ups.at_least(trace, 8) == said
    assert said in texts(close_ups.running_times_from(trace, 8))


def test_the_map_frames_the_recommended_term_of_each_row() -> None:
    rows = [(1.0, 1.0, 300.0, 100.0), (1.0, 1.0, 900.0, 101.0), (4.0, 1.0, 300.0, 130.0), (4.0, 1.0, 900.0, 100.0),
            (1.0, 1.2, 300.0, 500.0)]  # fmt: skip
    swept = pd.DataFrame(rows, columns=["overheads", "load", "lease_term", "average_jct"])
    fig = close_ups.dear_leases(swept.reindex(columns=[*swept.columns, *FIGURES[1:]], fill_value=0.0))
    frames = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    assert [(frame.get_x() + 0.5, frame.get_y() + 0.5) for frame in frames] == [(1, 0), (0, 1)]
    assert "20 s and 80 s" in texts(fig) and "30.0" in texts(fig)


def test_two_runs_of_one_tenant_and_of_two_schedulers_are_drawn_job_by_job() -> None:
    trace, cluster = trace_of(("a", 2, 2), ("a", 2, 4), ("b", 4, 3), ("b", 4, 0.1)), Cluster(1, 8)
    tenant, before, after, _ = one_tenant.over_claiming(trace, cluster)
    honest, greedy = (simulate(jobs, cluster, "astraea", keep_log=True) for jobs in (before, after))
    fig = close_ups.leases_of(honest, greedy, tenant)
    long = honest.jobs[(honest.jobs["tenant"] == tenant) & (honest.jobs["duration"] >= close_ups.LONG)]
    assert f"mean JCT of these {len(long)} jobs: {long['jct'].mean() / HOUR:.1f} h" in texts(fig)
    assert "Alike: 100 %" in texts(close_ups.job_by_job(honest, honest, 8))


def test_the_values_at_one_size_are_said() -> None:
    hours = {"astraea": 2, "tiresias-l": 3}
    rows = [(name, percent, jct * HOUR, 0.1) for name, jct in hours.items() for percent in (60, 80)]
    curve = pd.DataFrame(rows, columns=["scheduler", "nodes_percent", "average_jct", "sharing_loss"])
    said = "80 % of the nodes: ASTRAEA 2.00 h, loss 10.0 %; Tiresias-L 3.00 h, loss 10.0 %"
    assert close_ups.on_curve_words(curve, 80) == said
    assert said in texts(close_ups.on_curve(curve, 80))
