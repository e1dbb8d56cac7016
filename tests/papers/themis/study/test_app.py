"""One exploration seen closely, and where two ideas of fairness disagree: cases small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.themis.apps import App, AppTrace, Tuner
from papers.themis.policies import get_policy
from papers.themis.simulate import simulate
from papers.themis.study.tables import CASES, by_placement, foresight, held_table, loss_table, quadrants
from papers.themis.workload import sample_workload


def app(*lengths: int, gang: int = 2) -> App:
    """Jobs with losses 1 + job after their first epoch, falling by 0.01 an epoch."""
    loss = tuple(1.0 + j - 0.01 * np.arange(n) for j, n in enumerate(lengths))
    return App("a", 0.0, "resnet50", gang, 600.0, loss, Tuner(first=2, longest=20))


def test_every_epoch_that_is_trained_is_a_row() -> None:
    """Four jobs: two end after 2 epochs, the second best after 4, and the best trains to its end."""
    table = loss_table(app(9, 20, 20, 20))
    assert table.groupby("job")["epoch"].max().to_dict() == {0: 9, 1: 4, 2: 2, 3: 2}
    assert table.groupby("job")["rung"].first().to_dict() == {0: 3, 1: 2, 2: 1, 3: 1}
    assert table.loc[(table["job"] == 0) & (table["epoch"] == 3), "loss"].item() == pytest.approx(0.98)
    assert len(loss_table(app(5))) == 5


def test_what_is_held_adds_up_to_the_gpu_time() -> None:
    """The area below both steps is the app's GPU-time, in all and on one machine."""
    workload = AppTrace("w", (app(12, 12, 12, gang=4),), np.array([4, 2, 2]))
    result = simulate(workload, get_policy("tiresias"))
    held = held_table(workload, result, "a")
    area = {
        kind: float((part["held"].to_numpy()[:-1] * np.diff(part["time"])).sum()) for kind, part in held.groupby("kind")
    }
    row = result.jobs.iloc[0]
    assert area["in all"] == pytest.approx(row["attained_service"])
    spread = (1 - row["placement"]) / (1 - 1 / 1.25)
    assert 0 < spread < 1
    assert area["on one machine"] == pytest.approx((1 - spread) * row["attained_service"])
    assert held["time"].iloc[0] == 0
    assert (held.groupby("kind")["held"].last() == 0).all()


def test_more_epochs_tell_more() -> None:
    """Estimates come closer to the truth, and only jobs that train longer are asked for."""
    workload = sample_workload(15, seed=3)
    table = foresight(workload)
    assert list(table["epochs"]) == [4, 8, 16, 32]
    assert table["median"].is_monotonic_decreasing
    assert (table["worst_tenth"] > table["median"]).all()
    longer = [sum(len(loss) > n for a in workload.apps for loss in a.loss) for n in table["epochs"]]
    assert list(table["jobs"]) == longer


def test_cases_by_hand() -> None:
    """One app of each kind, and the two bounds themselves, which are neither late nor lacking."""
    apps = pd.DataFrame(
        {
            "scheduler": ["x"] * 5 + ["y"],
            "finish_time_fairness": [1.0, 1.2, 1.0, 1.2, 1 / 0.95, 2.0],
            "rho_job": [1.0, 1.0, 0.9, 0.9, 0.95, 0.1],
        }
    )
    table = quadrants(apps)
    assert list(table.columns) == list(CASES)
    assert table.loc["x"].tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert table.loc["y"].tolist() == [0, 0, 0, 1]


def test_groups_by_placement_by_hand() -> None:
    """A score of exactly 0.75 belongs to the group above, a perfect one to its own."""
    apps = pd.DataFrame(
        {
            "scheduler": "x",
            "placement": [0.5, 0.75, 0.95, 1.0, 1.0 - 1e-12],
            "finish_time_fairness": [2.0, 1.0, 1.0, 1.0, 1.2],
            "rho_job": [1.0, 1.0, 1.0, 0.5, 0.7],
        }
    )
    table = by_placement(apps).set_index("placement")
    assert list(table.index) == ["below 0.75", "0.75 to 0.9", "0.9 to 1", "1"]
    assert list(table["apps"]) == [1, 1, 1, 2]
    assert list(table["late"]) == [1, 0, 0, 0.5]
    assert table.loc["1", "rho_job"] == pytest.approx(0.6)
