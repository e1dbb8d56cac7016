"""Pictures beside the real cluster, from the committed tables."""

from __future__ import annotations

import pandas as pd
import pytest
from places import ROOT

from papers.gavel.study import hardware

SUMMARY, STEPS, JOBS = (pd.read_csv(ROOT / "data" / f"verification_hardware{x}.csv") for x in ("", "_steps", "_jobs"))


def test_every_run_is_drawn_where_its_source_and_policy_say() -> None:
    axes = hardware.sources(SUMMARY).axes
    for ax, (column, _, unit) in zip(axes, hardware.PANELS, strict=True):
        assert sum(len(line.get_xydata()) for line in ax.lines) == len(SUMMARY)
        cluster = SUMMARY[SUMMARY["source"] == "cluster"]
        assert ax.lines[0].get_label() == "cluster"
        assert ax.lines[0].get_xdata() == pytest.approx(cluster[column] / unit)
    labels = [tick.get_text() for tick in axes[0].get_yticklabels()]
    assert labels[-1] == "Shockwave" and len(labels) == SUMMARY["policy"].nunique()


def test_the_way_to_their_simulator_ends_beside_it() -> None:
    (ax,) = hardware.steps(STEPS, SUMMARY).axes
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    assert rows[0] == "as here" and rows[-1] == "their simulator" and "solved at every change" not in rows
    las, theirs = ax.lines[:2]
    assert las.get_label() == "LAS" and len(las.get_xydata()) == len(rows) - 1
    means = SUMMARY.set_index(["policy", "source"])["average_jct"]["las"]
    assert las.get_xydata()[[0, -1], 0] == pytest.approx(
        [100 * means[source] / means["cluster"] for source in ("here", "as their simulator")]
    )
    assert theirs.get_xdata()[-1] == pytest.approx(100 * means["their simulator"] / means["cluster"])


def test_jobs_stand_over_their_simulations() -> None:
    for ax, (_, part) in zip(hardware.job_by_job(JOBS).axes, JOBS.groupby("policy", sort=False), strict=True):
        for line, source in zip(ax.lines, ("here", "as_their_simulator"), strict=False):
            assert line.get_xydata() * 3600 == pytest.approx(part[[source, "cluster"]].to_numpy())


def test_how_far_from_the_cluster() -> None:
    given = {"las": (100.0, 90.0, 80.0, 120.0), "shockwave": (50.0, 40.0)}
    rows = [(p, s, v) for p, values in given.items() for s, v in zip(hardware.MARKS, values, strict=False)]
    found = hardware.against(pd.DataFrame(rows, columns=["policy", "source", "average_jct"]))
    assert found.index.tolist() == ["LAS"]
    assert found.loc["LAS"].to_dict() == pytest.approx(
        {"cluster": 100, "their simulator": -10, "here": -20, "as their simulator": 20}
    )
