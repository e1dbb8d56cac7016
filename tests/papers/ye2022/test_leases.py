"""Parts of leases, and the pictures of Figs 7 and 8."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

from papers.ye2022.leases import (
    AT_THE_END,
    PARTS,
    VISIBLE,
    WORKFLOW,
    LeaseExample,
    lease_example,
    lease_picture,
    workflow_picture,
)


@pytest.fixture(scope="module")
def example() -> LeaseExample:
    return lease_example()


def test_parts_add_up_to_what_the_simulation_says(example: LeaseExample) -> None:
    jobs, parts = example.result.jobs.set_index("job_id"), example.parts
    seconds = (parts["end"] - parts["start"]).groupby([parts["job_id"], parts["part"]]).sum().unstack(fill_value=0.0)
    assert seconds["training"].to_dict() == dict(zip(jobs.index, jobs["duration"], strict=True))
    assert (seconds["restart"] + seconds["checkpoint"]).to_dict() == jobs["overhead"].to_dict()
    assert parts.groupby("job_id")["end"].max().to_dict() == jobs["end_time"].to_dict()


def test_every_lease_ends_in_one_way(example: LeaseExample) -> None:
    jobs, parts = example.result.jobs.set_index("job_id"), example.parts
    ends = parts[parts["then"] != ""]
    assert len(ends) == jobs["leases"].sum()
    assert (ends["then"] == "preempted").groupby(ends["job_id"]).sum().to_dict() == jobs["preemptions"].to_dict()
    assert ends.loc[ends["then"] == "completed", "job_id"].tolist() == ["A1", "A2", "B1", "B2"]
    assert set(parts["part"]) == set(PARTS) and set(ends["then"]) == set(AT_THE_END)
    # a checkpoint unless the job is done, a cold start after a preemption
    assert (parts["part"] == "checkpoint").sum() == (ends["then"] != "completed").sum()
    assert (parts["part"] == "restart").sum() == jobs["preemptions"].sum()
    first = parts[(parts["job_id"] == "A1") & (parts["lease"] == 4)]
    assert (first["end"] - first["start"]).tolist() == [VISIBLE.restart_overhead, 420, VISIBLE.checkpoint_overhead]


def test_the_picture_of_leases(example: LeaseExample) -> None:
    fig = lease_picture(example)
    rows = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    assert rows == ["A1 (vision)", "A2 (vision)", "B1 (speech)", "B2 (speech)"]
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
