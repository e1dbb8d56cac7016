"""What is read from squeue, sinfo and sacct, of the Slurm of the example files and of newer ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import ROOT

from astraea.live.answers import Node, Run, SlurmError, _per_node, jobs_of, nodes_of, runs_of

DATA = ROOT / "tests" / "data" / "live"


def squeue() -> Any:
    return json.loads((DATA / "squeue.json").read_text())


def test_jobs() -> None:
    jobs = {job.id: job for job in jobs_of(squeue())}
    assert list(jobs) == ["1", "2", "3_0", "3_1", "3_2", "3_3"]
    one = jobs["1"]
    assert (one.state, one.demand, one.per_node, one.on_nodes, one.held) == ("RUNNING", 4, 4, {"n1": 4}, False)
    two = jobs["2"]
    assert (two.state, two.demand, two.per_node, two.held, two.saves, two.start) == ("PENDING", 6, 0, True, True, 0)
    task = jobs["3_0"]
    assert (task.array, task.at_once, task.demand, task.nodes, task.on_nodes) == ("3", 2, 16, 2, {"n2": 8, "n3": 8})
    assert [jobs[f"3_{k}"].state for k in (1, 2, 3)] == ["PENDING"] * 3
    assert all(job.requeues and job.restarts == 0 and not job.depends for job in jobs.values())


def test_newer_versions_write_numbers_and_states_otherwise() -> None:
    answer = squeue()
    for entry in answer["jobs"]:
        entry["job_state"] = [entry["job_state"]]
        for name, value in entry.items():
            if isinstance(value, int) and not isinstance(value, bool):
                entry[name] = {"set": True, "infinite": False, "number": value}
            elif value is None:
                entry[name] = {"set": False, "infinite": False, "number": 0}
    assert jobs_of(answer) == jobs_of(squeue())


def test_a_job_that_gives_its_gpus_back() -> None:
    answer = squeue()
    answer["jobs"][0]["job_state"] = ["PENDING", "COMPLETING"]
    assert jobs_of(answer)[0].state == "COMPLETING"


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gres:gpu:4", 4), ("gpu:4(IDX:0-3)", 4), ("gres:gpu", 1), ("gpu:a100:2(IDX:0-1)", 2), ("gpu:1g.5gb:3", 3),
        ("gres:gpu:1,gres:shard:3", 1), ("gres:gpu:a100:2,gres:gpu:v100:1", 3), ("gres:nic:2", 0), ("", 0),
    ],
)  # fmt: skip
def test_gpus_of_a_node(text: str, gpus: int) -> None:
    assert _per_node(text) == gpus


def test_tasks_of_an_array_that_wait() -> None:
    answer = squeue()
    waiting = answer["jobs"][3]
    waiting["array_task_string"] = "5,8-12:2%4"
    assert [job.id for job in jobs_of(answer)][3:] == ["3_5", "3_8", "3_10", "3_12"]


def test_nodes() -> None:
    answer = json.loads((DATA / "sinfo.json").read_text())
    assert nodes_of(answer, "gpu") == [Node(f"n{k}", 8, True) for k in (1, 2, 3, 4)]
    answer["nodes"][0]["state"] = "down"
    answer["nodes"][1]["state_flags"] = ["DRAIN"]
    answer["nodes"][2]["state_flags"] = ["NOT_RESPONDING"]
    assert [node.is_usable for node in nodes_of(answer, "gpu")] == [False, False, False, True]
    with pytest.raises(SlurmError, match="partition 'cpu' has no GPUs"):
        nodes_of(answer, "cpu")


def test_runs() -> None:
    lines = (
        "7_2|vision|ann|normal|REQUEUED|100|110|120|gres/gpu=4,cpu=1|gres/gpu=4",
        "7_2|vision|ann|normal|RUNNING|125|130|Unknown|gres/gpu=4|gres/gpu=4",
        "3|speech|bob|normal|CANCELLED by 0|90|None|95|gres/gpu=2|",
        "3.batch|speech||||||||",
        "8+1|speech|bob|normal|RUNNING|90|91|Unknown|gres/gpu=2|",
    )
    assert runs_of("\n".join(lines)) == [
        Run("3", "speech", "bob", "normal", "CANCELLED", 90, 0, 95, 2),
        Run("7_2", "vision", "ann", "normal", "REQUEUED", 100, 110, 120, 4),
        Run("7_2", "vision", "ann", "normal", "RUNNING", 125, 130, 0, 4),
    ]


@pytest.mark.parametrize("answer", [{}, {"jobs": [{}]}, {"jobs": 3}, [], {"jobs": [{"job_id": "x"}]}])
def test_another_form(answer: Any) -> None:
    with pytest.raises(SlurmError, match="not the form that is known"):
        jobs_of(answer)
