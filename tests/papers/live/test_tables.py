"""Measurements on a real Slurm beside their simulation, by hand and as stored, and the nodes that Slurm takes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from listed_jobs import listed
from places import ROOT

from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from papers.live import compared, tables
from papers.live.tables import Delays, Repetition

COLUMNS = ["job", "tenant", "gpus", "service", "submit", "run", "granted", "renewals", "outcome", "over",
           "slurm_start", "slurm_end", "node", "start", "save", "saved", "stop"]  # fmt: skip


def repetition(*rows: tuple[object, ...], system: str = "astraea") -> Repetition:
    return Repetition(system, 0, pd.DataFrame(rows, columns=COLUMNS), -10.0, 30.0)


UNDISTURBED = repetition(
    ("a", "vision", 8, 10.0, 0.5, 1, 2.0, 0, "ended", 14.0, 2, 12, "n1", 2.5, None, None, 12.5),
    ("b", "speech", 4, 6.0, 2.5, 1, 4.0, 0, "ended", 12.0, 4, 10, "n2", 4.5, None, None, 10.5),
    ("c", "nlp", 1, 30.0, 3.0, 1, 4.0, 1, "ended", 36.0, 4, 34, "n3", 4.5, 23.0, 18.5, 34.5),
)  # fmt: skip
STOPPED = repetition(
    ("a", "vision", 8, 30.0, 0.5, 1, 2.0, 0, "not renewed", 22.0, 2, 22, "n1", 2.5, 21.0, 18.5, 22.1),
    ("a", "vision", 8, 30.0, 0.5, 2, 30.0, 0, "ended", 44.0, 31, 42, "n1", 31.0, None, None, 42.5),
    ("b", "speech", 4, 30.0, 2.5, 1, 4.0, 0, "not renewed", 24.0, 4, 24, "n2", 5.0, None, None, 24.2),
    ("b", "speech", 4, 30.0, 2.5, 2, 40.0, 1, "ended", 72.0, 41, 71, "n2", 42.0, 59.0, 17.0, 72.0),
)  # fmt: skip


def test_a_run_without_surprise_is_simulated_to_the_second() -> None:
    assert tables.delays(UNDISTURBED) == Delays(0.5, 0.0, 0.0)
    [row] = compared.comparison([UNDISTURBED]).to_dict("records")
    assert row["jct"] == pytest.approx((12.0 + 8.0 + 31.5) / 3)
    assert row["error"] == pytest.approx(0)
    assert (row["granted"], row["lone"], row["in_order"], row["same_round"]) == (3, 0, 1.0, 1.0)
    assert row["loss"] == pytest.approx(2 / 3)  # the third waited less than a twentieth of its life
    table = compared.steps([UNDISTURBED]).set_index("modelled")
    assert table.loc["no delay", "error"] == pytest.approx(-0.5 / ((12.0 + 8.0 + 31.5) / 3))
    assert table.loc["nodes", "error"] == pytest.approx(0)
    assert table.loc["each start", "same_round"] == 1.0


def test_each_job_starts_as_late_as_it_did() -> None:
    late = UNDISTURBED._replace(runs=UNDISTURBED.runs.assign(
        start=[2.5, 5.5, 4.5], stop=[12.5, 11.5, 34.5]))  # fmt: skip
    assert tables.starts(late).to_dict() == {"a": 0.5, "b": 1.5, "c": 0.5}
    table = compared.per_job(late)
    assert table["measured"].tolist() == pytest.approx(table["simulated"].tolist())
    same = tables.simulated(late, tables.delays(late))
    assert same.jobs["jct"].mean() == pytest.approx(table["measured"].mean())
    assert same.jobs["jct"].tolist() != pytest.approx(table["measured"].tolist())
    shifted = tables.simulated(late, first=tables.starts(late) + 1)
    assert (shifted.jobs["jct"] - table["measured"]).tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_stops_cost_what_was_not_saved() -> None:
    # the second job of those that were stopped had not saved: all that it did is lost
    assert tables.delays(STOPPED) == Delays(0.75, 1.5, pytest.approx((1.0 + 19.0) / 2))
    assert tables.delays(UNDISTURBED._replace(system="slurm")) == tables.NONE
    table = tables.grants(STOPPED, tables.simulated(STOPPED))
    # nobody else is there, so that in the simulation nobody is stopped
    assert table.loc[table["simulated"].isna(), ["job", "run"]].to_numpy().tolist() == [["a", 2], ["b", 2]]
    assert table.loc[table["run"] == 1, "simulated"].tolist() == [2.0, 4.0]
    # a lease more, for which Slurm had no nodes
    lost = ("a", "vision", 8, 30.0, 0.5, 2, 24.0, 0, "not renewed", 26.0, None, None, None, None, None, None, None)
    runs = STOPPED.runs.assign(run=[1, 3, 1, 2]).to_numpy().tolist()
    other = repetition(tuple(runs[0]), lost, *(tuple(row) for row in runs[1:]))
    assert tables.delays(other) == tables.delays(STOPPED)
    assert tables.measured(other).jobs["jct"].tolist() == tables.measured(STOPPED).jobs["jct"].tolist()
    paid, more = compared.overheads([STOPPED, other]).to_dict("records")
    assert (paid["stops"], paid["renewals"], paid["longest"], paid["unstarted"], more["unstarted"]) == (2, 1, 2.0, 0, 1)
    held = 8 * (20.1 + 12.5) + 4 * (20.2 + 32.0)
    assert paid["share"] == pytest.approx(1 - 30 * 12 / held)
    assert more["share"] == pytest.approx(1 - 30 * 12 / (held + 8 * 2))


@pytest.mark.parametrize(
    ("other", "part"),
    [([1.0, 2.0, 3.0], 1.0), ([3.0, 2.0, 1.0], 0.0), ([1.0, 1.0, 2.0], 2.5 / 3), ([2.0, 1.0, 3.0], 2 / 3)],
)
def test_pairs_in_order(other: list[float], part: float) -> None:
    measured, simulated = pd.Series([5.0, 6.0, 7.0]).to_numpy(), pd.Series(other).to_numpy()
    assert compared.in_order(measured, simulated) == pytest.approx(part)


def test_a_folder_without_repetitions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file repetitions\.csv"):
        tables.read(tmp_path)


@pytest.mark.parametrize("folder", ["", "stretched"])
def test_the_stored_repetitions_are_near_their_simulations(folder: str) -> None:
    table = compared.comparison(tables.read(ROOT / "data" / "live" / folder))
    assert (table["in_order"] >= 0.9).all()
    assert table.groupby("system")["repetition"].nunique().to_dict() == {"astraea": 5, "slurm": 5}
    for _, part in table.groupby("system"):
        assert abs(part["simulated_jct"].mean() / part["jct"].mean() - 1) <= 0.05


def test_who_is_ahead_is_counted_over_repetitions() -> None:
    rows = [("slurm", 0, 1, 50.0, 0.4), ("astraea", 0, 1, 70.0, 0.3), ("slurm", 1, 1, 60.0, 0.2),
            ("astraea", 1, 1, 80.0, 0.5), ("slurm", 0, 5, 90.0, 0.2), ("astraea", 0, 5, 80.0, 0.2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["system", "repetition", "stretch", "jct", "loss"])
    found = compared.who_is_ahead(table).set_index("stretch")
    assert found[["repetitions", "slurm_sooner", "slurm_fairer"]].to_numpy().tolist() == [[2, 2, 1], [1, 0, 0]]
    assert found.loc[1, ["jct_slurm", "jct_astraea"]].tolist() == [55.0, 75.0]


SETTINGS = Settings(interval=2, checkpoint_overhead=0, restart_overhead=0, placement="strict")


@pytest.mark.parametrize(("policy", "node"), [(tables.ASTRAEA, 2), (tables.SIMULATED, 0)])
def test_a_small_job_goes_to_the_shortest_run_of_nodes(policy: Policy, node: int) -> None:
    jobs = [("a", "t", 6, 0.0, 15.0), ("b", "t", 8, 1.0, 15.0), ("c", "t", 7, 3.0, 15.0), ("d", "t", 1, 5.0, 10.0)]
    found = simulate(listed(*jobs), tables.CLUSTER, policy, settings=SETTINGS, keep_log=True)
    # d fits exactly beside c on node 2, which has an empty neighbour; node 0, where a left two GPUs, has none
    assert found.placements is not None
    assert found.placements["node"].tolist() == [0, 1, 2, node]


def test_gpus_of_a_lease_that_is_over_can_be_taken_at_once() -> None:
    others = ((job, "t", 8, 1.0, 60.0) for job in "bcd")
    trace = listed(("a", "t", 8, 0.0, 60.0), *others, ("e", "t", 8, 3.0, 10.0))
    found = simulate(trace, tables.CLUSTER, tables.SIMULATED, settings=SETTINGS, keep_log=True)
    assert found.grants is not None and found.placements is not None
    [last] = found.grants.index[found.grants["job_id"] == "e"]
    assert found.grants.loc[last, "start"] == 20.0  # a's lease is over, the others' are not
    assert found.placements.set_index("grant").loc[last, "node"] == 0
