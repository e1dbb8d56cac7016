"""Examples by hand: the six GPUs of [Ye2022] Fig 6, the two algorithms turn by turn, and parts of leases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import HOUR, MINUTE
from astraea.traces.trace import Trace
from papers.ye2022.decisions import NONE, Turns, fair_shares, turns, two_tenants, two_tenants_turns, written_out
from papers.ye2022.examples import (
    NO_OVERHEADS,
    ROUND,
    SIX_GPUS,
    asking,
    divided,
    mechanisms,
    rejoined,
    six_gpu_trace,
    window_shares,
)
from papers.ye2022.leases import AT_THE_END, PARTS, VISIBLE, WORKFLOW, lease_example, lease_picture, workflow_picture


def run(mechanism: str) -> tuple[Result, pd.DataFrame]:
    """The example under a mechanism, and its leases."""
    trace = divided(six_gpu_trace()) if mechanism == "max-min" else six_gpu_trace()
    result = simulate(trace, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)
    return result, rejoined(result.log) if mechanism == "max-min" else result.log


@pytest.mark.parametrize(
    ("mechanism", "minutes", "until", "shares"),
    [
        # at every moment
        ("max-min", 10, 40 * MINUTE, (1 / 3, 1 / 3, 1 / 3)),
        # minutes   0      10      20      30 ...       80
        # GPUs 1-3  | Job1 | Job2 | Job1 | Job2 | ...
        # GPUs 4-6  | Job1 | Job3 | Job1 | Job3 | ...
        ("finish-time-fairness", 20, 80 * MINUTE, (1 / 2, 1 / 4, 1 / 4)),
        # one round for Job1, two for Job2 with Job3: in any half hour while all have work
        ("astraea", 30, HOUR, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_shares_in_any_window(mechanism: str, minutes: float, until: float, shares: tuple[float, ...]) -> None:
    result, grants = run(mechanism)
    table = window_shares(grants, SIX_GPUS.gpus, minutes * MINUTE, until)
    found = {str(name): set(part["share"].round(12)) for name, part in table.groupby("job_id")}
    assert found == {f"Job{k}": {round(share, 12)} for k, share in enumerate(shares, 1)}
    if mechanism == "astraea":
        assert result.jobs["rho_job"].to_list() == [1.0, 1.0, 1.0]
    if mechanism == "finish-time-fairness":
        turns = grants.sort_values(["start", "job_id"]).groupby("start")["job_id"].agg(list).to_list()
        assert turns == [["Job1"], ["Job2", "Job3"]] * 4


def test_shares_count_the_part_of_a_lease_inside_the_window() -> None:
    grants = pd.DataFrame({"job_id": ["A", "B"], "demand": [2, 1], "start": [0.0, 600.0], "end": [1200.0, 2400.0]})
    assert window_shares(grants, gpus=4, window=1200, until=1800).to_numpy().tolist() == [
        [0, 1200, "A", 0.5], [0, 1200, "B", 0.125], [600, 1800, "A", 0.25], [600, 1800, "B", 0.25],
    ]  # fmt: skip
    with pytest.raises(InputError, match="at most 900 s long, got 1200 s"):
        window_shares(grants, gpus=4, window=1200, until=900)


def test_asking_for_more_pays_under_finish_time_fairness_only() -> None:
    hours = (10, 10, 10)
    for name, honest, greedy in (("finish-time-fairness", 1 / 4, 1 / 3), ("astraea", 1 / 3, 1 / 4)):
        assert asking(name, (6, 3, 3), hours, 2 * HOUR).shares["Job2"] == pytest.approx(honest)
        got = asking(name, (6, 6, 3), hours, 2 * HOUR)
        assert got.shares["Job2"] == pytest.approx(greedy)
        assert got.shares.sum() == pytest.approx(1) and got.shares["nobody"] > 0
    assert asking("astraea", (6, 3, 3), hours, 2 * HOUR).ends["Job2"] == 15 * HOUR
    assert asking("max-min", (2, 3, 3), hours, 2 * HOUR).shares[["Job1", "Job2", "Job3"]].to_list() == [1 / 3] * 3


def granted(found: Turns) -> list[list[object]]:
    rows: list[list[object]] = found.picks.loc[found.picks["is_granted"], ["time", "job_id"]].to_numpy().tolist()
    return rows


def leases(trace: Trace, cluster: Cluster) -> pd.DataFrame:
    """Leases that the simulation grants."""
    policy = get_policy("astraea").with_parameters(lease_term=ROUND)
    grants = simulate(trace, cluster, policy, settings=NO_OVERHEADS, keep_log=True).log
    return grants


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in range(1, 6))])
def test_the_picks_are_those_of_the_simulation(seed: int) -> None:
    # running times in whole minutes: leases do not end together, and jobs come and go inside those of others
    rng, n = np.random.default_rng(seed), 14
    jobs = pd.DataFrame(
        {"job_id": [f"J{k:02d}" for k in range(n)], "tenant": rng.choice(["a", "b", "c"], n),
         "demand": rng.integers(1, 4, n), "submit_time": np.sort(rng.integers(0, 40, n)) * MINUTE,
         "duration": rng.integers(1, 60, n) * MINUTE}
    )  # fmt: skip
    weights = {name: float(k + 2) for k, name in enumerate(sorted(set(jobs["tenant"])))}
    trace, cluster = Trace.from_frame(jobs, name="random", weights=weights), Cluster(nodes=1, gpus_per_node=14)
    grants = leases(trace, cluster)
    assert granted(turns(trace, cluster, grants, ROUND)) == grants[["start", "job_id"]].to_numpy().tolist()


def test_two_tenants_turn_by_turn() -> None:
    found, grants = two_tenants_turns()
    assert granted(found) == grants[["start", "job_id"]].to_numpy().tolist()
    at = found.considered[(found.considered["time"] == 10 * MINUTE)].set_index(["turn", "name"])
    # vision has had 6 GPUs for 10 minutes, and owns 3 for the 20 up to the end of the next lease
    assert at.loc[(1, "vision"), "rho"] == pytest.approx(60 / 60)
    assert at.loc[(1, "speech"), "rho"] == 0 and at.loc[(1, "speech"), "is_picked"]
    # its 3 GPUs are due to three jobs in equal parts
    assert at.loc[(3, "A1"), "rho"] == pytest.approx(30 / 10)
    assert at.loc[(3, "A3"), "rho"] == pytest.approx(10 / 10) and at.loc[(3, "A3"), "is_picked"]
    # A3's GPU counts at once, for a whole lease
    assert at.loc[(4, "vision"), "rho"] == pytest.approx(70 / 60)
    # a tenant whose jobs have leases already gets a turn in vain
    words = written_out(found)
    assert words.loc[[("10", "2"), ("0", "1")], "outcome"].tolist() == ["all its jobs have leases", "A1 gets 3"]
    assert written_out(found, 10 * MINUTE).index.get_level_values("turn").tolist() == ["1", "2", "3", "4"]
    # vision: thirds of 3 GPUs for 40 minutes; speech: B1 alone, half of 3 beside B2, and then B2 alone once B1 is done
    past = grants[grants["start"] < 40 * MINUTE]
    owed = fair_shares(two_tenants(), 6, past, 40 * MINUTE) / MINUTE
    assert owed.tolist() == pytest.approx([40, 40, 40, 45, 35])


def test_a_gang_that_does_not_fit_closes_its_tenant() -> None:
    jobs = [("A", "t", 4, 0.0, ROUND), ("B", "u", 3, 0.0, ROUND), ("C", "u", 1, 0.0, ROUND)]
    trace = listed(*jobs, name="closed", weights={"t": 1.0, "u": 1.0})
    grants = leases(trace, Cluster(nodes=1, gpus_per_node=8))
    assert grants["job_id"].tolist() == ["A", "B", "C"]
    found = turns(trace, Cluster(nodes=1, gpus_per_node=6), grants, ROUND).picks
    first = found[found["time"] == 0]
    assert first[["job_id", "is_granted"]].to_numpy().tolist() == [["A", True], ["B", False], [NONE, False]]


def test_parts_of_leases_add_up_to_what_the_simulation_says() -> None:
    example = lease_example()
    jobs = example.result.jobs.set_index("job_id")
    parts = example.parts.assign(seconds=example.parts["end"] - example.parts["start"])
    spent = parts.pivot_table(index="job_id", columns="part", values="seconds", aggfunc="sum", fill_value=0.0)
    assert spent["training"].to_dict() == jobs["duration"].to_dict()
    assert (spent["restart"] + spent["checkpoint"]).to_dict() == jobs["overhead"].to_dict()
    assert parts.groupby("job_id")["end"].max().to_dict() == jobs["end_time"].to_dict()
    first = parts.loc[(parts["job_id"] == "A1") & (parts["lease"] == 4), "seconds"]
    assert first.tolist() == [VISIBLE.restart_overhead, 420, VISIBLE.checkpoint_overhead]
    # every lease ends in one way: a checkpoint unless the job is done, a cold start after a preemption
    ends = parts[parts["then"] != ""]
    assert len(ends) == jobs["leases"].sum()
    assert (ends["then"] == "preempted").groupby(ends["job_id"]).sum().to_dict() == jobs["preemptions"].to_dict()
    assert ends.loc[ends["then"] == "completed", "job_id"].tolist() == ["A1", "A2", "B1", "B2"]
    assert (parts["part"] == "checkpoint").sum() == (ends["then"] != "completed").sum()
    assert (parts["part"] == "restart").sum() == jobs["preemptions"].sum()
    fig = lease_picture(example)
    named = {text.get_text() for text in fig.legends[0].get_texts()}
    assert named == {"waiting", "submission", *AT_THE_END, *PARTS.values()}
    plt.close(fig)


def test_the_drawing_says_what_the_table_says() -> None:
    fig = workflow_picture()
    drawn = " ".join(text.get_text().replace("\n", " ") for text in fig.axes[0].texts)
    for step, what in zip(WORKFLOW["step"], WORKFLOW["what"], strict=True):
        assert step in drawn
        assert step in ("1", "4", "done") or what in drawn, step
    plt.close(fig)
