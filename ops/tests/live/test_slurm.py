"""Calls of Slurm and its answers; no text of a user is executed, passed on, or ends a round."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from live_cluster import LIVE, job
from places import OPS
from pretended_slurm import NODES, pretend, queue_entry

from astraea_ops.live.answers import Node, Run, SlurmError, jobs_of, nodes_of, runs_of
from astraea_ops.live.config import read_config
from astraea_ops.live.coordinator import Coordinator
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.slurm import Slurm
from astraea_ops.slurm.words import gres_of, state_of

DATA = OPS / "tests" / "data" / "live"


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
    answer = squeue()
    answer["jobs"][0]["job_state"] = ["PENDING", "COMPLETING"]  # it gives its GPUs back
    answer["jobs"][3]["array_task_string"] = "5,8-12:2%4"
    answer["jobs"][1] |= {"batch_flag": False, "partition": "gpu,other", "required_nodes": "n[1-2,08]x,m3,k[9-10]"}
    first, srun, _, *tasks = jobs_of(answer)
    assert (srun.wanted, srun.unwanted) == (("n1x", "n2x", "n08x", "m3", "k9", "k10"), ())
    assert (srun.is_batch, srun.requeues, srun.partitions) == (False, False, ["gpu", "other"])
    assert (first.state, [task.id for task in tasks]) == ("COMPLETING", ["3_5", "3_8", "3_10", "3_12"])


@pytest.mark.parametrize(
    ("written", "state"),
    [
        ("PENDING", "PENDING"), (["PENDING", "EXPEDITING"], "COMPLETING"), (["PENDING", "COMPLETING"], "COMPLETING"),
        (["RUNNING", "CONFIGURING"], "CONFIGURING"), (["PENDING", "REQUEUED"], "REQUEUED"),
        (["RUNNING", "POWER_UP_NODE"], "RUNNING"), (["NEW", "NEWER"], "NEW"),
    ],
)  # fmt: skip
def test_states_in_a_list(written: Any, state: str) -> None:
    assert state_of(written) == state


def test_newer_versions_write_numbers_and_states_otherwise() -> None:
    answer = squeue()
    for entry in answer["jobs"]:
        entry["job_state"] = [entry["job_state"]]
        for name, value in entry.items():
            if isinstance(value, int) and not isinstance(value, bool):
                entry[name] = {"set": True, "infinite": False, "number": value}
            elif value is None:
                entry[name] = {"set": False, "infinite": False, "number": 0}
    # as text, in which no time limit, which is NaN, is like itself
    assert [str(job) for job in jobs_of(answer)] == [str(job) for job in jobs_of(squeue())]


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gres:gpu:4", 4), ("gpu:4(IDX:0-3)", 4), ("gres:gpu", 1), ("gpu:a100:2(IDX:0-1)", 2), ("gpu:1g.5gb:3", 3),
        ("gres:gpu:1,gres:shard:3", 1), ("gres:gpu:a100:2,gres:gpu:v100:1", 3), ("gres:nic:2", 0), ("", 0),
    ],
)  # fmt: skip
def test_gpus_of_a_node(text: str, gpus: int) -> None:
    assert gres_of(text) == gpus


def test_nodes() -> None:
    answer = json.loads((DATA / "sinfo.json").read_text())
    assert nodes_of(answer, "gpu") == [Node(f"n{k}", 8, True, ("gpu",)) for k in (1, 2, 3, 4)]
    answer["nodes"][3]["partitions"] = ["h100"]
    assert [node.name for node in nodes_of(answer, "gpu")] == ["n1", "n2", "n3"]
    assert [node.partitions for node in nodes_of(answer, "h100,gpu")] == [("gpu",)] * 3 + [("h100",)]
    answer["nodes"][3]["partitions"] = ["gpu"]
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


HOSTILE = (
    "$(touch pwned)", "`touch pwned`", "; touch pwned;", "| touch pwned", "&& touch pwned", "\n touch pwned\n",
    "--help", "-M other", "'", '"', "\\", "\x00", "\x1b[2J", "‮", "\ud800", "%n%s", "{0.__class__}", "../../x",
    "17 18", "all", "[1-9]", "1,2", "*", "x" * 100_000,
)  # fmt: skip
"""Texts that a shell, a terminal, a formatter or Slurm itself could interpret."""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the calls of the programs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return pretend(tmp_path / "bin", [])


@pytest.mark.parametrize("id", [*HOSTILE, "", "0", "01", "-1", "1_", "1_-1", "1.0", "1.batch", "1+0", " 1", "1\n", "１",
                                "9" * 19, "1_" + "9" * 10])  # fmt: skip
def test_only_ids_are_handed_on(id: str, said: Path) -> None:
    slurm = Slurm("gpu")
    for call in (slurm.hold, slurm.requeue):
        with pytest.raises(SlurmError, match="is not a job id"):
            call(id)
    for of_job in (slurm.warn, lambda job: slurm.release(job, 0)):
        for partition in ("gpu", "gpu,other"):
            with pytest.raises(SlurmError, match="is not a job id"):
                of_job(job(id, partition=partition))
    assert not said.exists()


@pytest.mark.parametrize("id", ["1", "17_3", "9" * 18])
def test_what_is_asked_of_slurm_word_by_word(id: str, said: Path) -> None:
    slurm = Slurm("gpu,h100")
    slurm.hold(id)
    slurm.release(job(id), 5)
    slurm.release(job(id, restarts=1, partition="h100,$(evil),gpu"), 6)
    slurm.requeue(id)
    slurm.warn(job(id))
    slurm.warn(job(id, partition="h100"))
    Slurm("gpu", signal="USR2").warn(job(id))
    slurm.runs(0)
    slurm.jobs()
    assert slurm.nodes() == [Node("n1", 8, True, ("gpu",)), Node("n2", 8, True, ("gpu",))]
    *orders, history, queue, unknown, nodes = said.read_text().splitlines()
    assert orders == [
        f"scontrol hold {id}", f"scontrol release {id}", f"scontrol update JobId={id} Priority=3999999995",
        f"scontrol update JobId={id} Partition=gpu,h100",
        f"scontrol release {id}", f"scontrol update JobId={id} Priority=3999999994 StartTime=now",
        f"scontrol requeuehold Incomplete {id}", f"scancel --partition=gpu --batch --signal=USR1 {id}",
        f"scancel --partition=h100 --batch --signal=USR1 {id}",
        f"scancel --partition=gpu --batch --signal=USR2 {id}",
    ]  # fmt: skip
    assert history.startswith("sacct --allusers --allocations --duplicates --parsable2 --noheader "
                              "--partition=gpu,h100 ")
    assert (queue, unknown, nodes) == ("squeue --json --states=all", "scontrol show nodes --json", "sinfo --json")


def test_names_and_comments_stay_texts(tmp_path: Path, said: Path, caplog: pytest.LogCaptureFixture) -> None:
    jobs = [
        queue_entry(k, account=f"a{k}", gpus=1, name=text, comment=text, user_name=text, qos=text, state_reason=text,
                    licenses=text, command=text, wckey=text)
        for k, text in enumerate(HOSTILE, 1)
    ]  # fmt: skip
    accounts = [text for text in HOSTILE if text.isprintable() and len(text) < 100]
    jobs += [queue_entry(100 + k, account=text, gpus=1) for k, text in enumerate(accounts)]
    pretend(tmp_path / "bin", jobs)
    (tmp_path / "live.toml").write_text(LIVE.partition("weights")[0])
    config = read_config(tmp_path / "live.toml")
    with closing(Ledger(config.state)) as ledger, caplog.at_level(logging.INFO):
        Coordinator(config, ledger).round()
    assert "this round is skipped" not in caplog.text
    called = said.read_text().splitlines()
    assert len([line for line in called if line.startswith("scontrol release ")]) == 16
    for line in called:
        program, *words = line.split(" ")
        assert program in ("sinfo", "squeue", "sacct") or words[0] == "show" or all(
            word in ("release", "update") or word.removeprefix("JobId=").removeprefix("Priority=").isdecimal()
            for word in words
        ), line  # fmt: skip
    assert not list(tmp_path.rglob("*pwned*"))


def test_a_job_that_starts_before_it_has_its_priority_is_released(tmp_path: Path, said: Path) -> None:
    scontrol = tmp_path / "bin" / "scontrol"
    for words, is_refused in (("Job is no longer pending execution", False), ("Access denied", True)):
        scontrol.write_text(f'#!/bin/sh\n[ $1 = release ] || {{ echo "{words} for job 7" >&2; exit 1; }}\n')
        with pytest.raises(SlurmError, match=words) if is_refused else nullcontext():
            Slurm("gpu").release(job("7"), 0)


def test_arrays_are_read_in_full(tmp_path: Path, said: Path) -> None:
    tasks = ",".join(str(k * k) for k in range(1, 30))
    pretend(tmp_path / "bin", [queue_entry(5, array_job_id=5, array_task_string="1,4,9,...%2")])
    (tmp_path / "bin" / "full.json").write_text(
        json.dumps({"jobs": [queue_entry(5, array_job_id=5, array_task_string=f"{tasks}%2")]})
    )
    squeue = tmp_path / "bin" / "squeue"  # as Slurm does: cut after 64 characters, unless told otherwise
    squeue.write_text(f'#!/bin/sh\n[ "$SLURM_BITSTR_LEN" = 0 ] && cat {squeue.parent}/full.json || cat {squeue}.json\n')
    assert [job.id for job in Slurm("gpu").jobs()] == [f"5_{k * k}" for k in range(1, 30)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0-999999999999", "more than"), ("0-99999999,0-99999999", "more than"), ("0-9:0", "must not be zero"),
        ("9" * 5000, "4300 digits"), *((text, "invalid literal") for text in ("1-2-3", "...", "1:2:3", "a", "[", "%")),
    ],
)  # fmt: skip
def test_arrays_of_another_form_are_refused(text: str, why: str) -> None:
    with pytest.raises(SlurmError, match=rf"^squeue --json: unknown format \(ValueError: .*{why}"):
        jobs_of({"jobs": [queue_entry(5, array_job_id=5, array_task_string=text)]})


def test_a_program_that_prints_no_json_or_never_answers(tmp_path: Path, said: Path) -> None:
    squeue = tmp_path / "bin" / "squeue"
    for text in ("", "{", "[" * 100_000, "slurm_load_jobs error", "\\377"):
        squeue.write_text(f"#!/bin/sh\nprintf '{text}'\n")
        with pytest.raises(SlurmError, match="squeue: its output is not JSON"):
            Slurm("gpu").jobs()
    squeue.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(SlurmError, match=r"squeue did not answer within 0\.2 s"):
        Slurm("gpu", patience=0.2).jobs()
    squeue.unlink()
    os.environ["PATH"] = str(squeue.parent)
    with pytest.raises(SlurmError, match="squeue cannot be started"):
        Slurm("gpu").jobs()


QUEUE = [
    queue_entry(1, gpus=8),
    queue_entry(2, job_state="RUNNING", tres_alloc_str="gres/gpu:a100=4", gres_detail=["gpu:a100:4(IDX:0-3)"],
                job_resources={"allocated_nodes": [{"nodename": "n1"}]}),
    queue_entry(3, array_job_id=3, array_task_string="1-7:2,9%2", array_max_tasks=2),
    # as since Slurm 23
    queue_entry(4, job_state=["RUNNING", "COMPLETING"], priority={"set": True, "infinite": False, "number": 7},
                job_resources={"nodes": {"allocation": [{"name": "n2"}]}}, gres_detail=["gpu:2"]),
]  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**400, -(10**400), 1e308, float("inf"), float("nan"), "", [], {}, [[]], [{}], [None], {"": 0},
    {"set": True}, {"set": True, "number": "x"}, {"set": True, "number": [1]}, {"number": 10**400, "set": 1},
    {"allocated_nodes": 1}, {"nodes": [1]}, {"nodes": {"allocation": [{"name": []}]}},
    "gres/gpu=" + "9" * 50, "gpu:" + "9" * 5000, "gres/gpu=" + "9" * 5000, "0-999999999999", "1-1000", "1--1", "٣",
    *HOSTILE,
)  # fmt: skip
SACCT = "7|vision|ann|normal|COMPLETED|1700000000|1700000010|1700000020|cpu=1,gres/gpu=2|cpu=1,gres/gpu=2"


def changed(name: str, entries: list[dict[str, Any]]) -> Iterator[Any]:
    """Documents in which one field of one entry is something else."""
    yield from ({name: value} for value in VALUES)
    for k, entry in enumerate(entries):
        yield from ({name: [*entries[:k], entry | {field: value}]} for field in entry for value in VALUES)


@pytest.mark.parametrize(
    ("reader", "answers", "program"),
    [
        (jobs_of, [*VALUES, *changed("jobs", QUEUE)], "squeue --json: unknown format ("),
        (lambda answer: nodes_of(answer, "gpu"), [*VALUES, *changed("nodes", NODES)], "the list of nodes"),
        (runs_of, [SACCT.replace(field, value) for field in SACCT.split("|")
                   for value in ("", " ", "x|y", "\n", "Unknown", "9" * 5000, *HOSTILE)], "sacct: "),
    ],
    ids=["squeue", "nodes", "sacct"],
)  # fmt: skip
def test_what_has_another_form_is_read_or_refused(
    reader: Callable[[Any], list[Any]], answers: list[Any], program: str
) -> None:
    said = []
    for answer in answers:
        try:
            for found in reader(answer):
                assert all(type(value) in (str, int, float, bool, dict, tuple) for value in found)
        except SlurmError as err:
            said.append(str(err))
    assert all(text.startswith(program) or "has no GPUs" in text for text in said)
    assert len(answers) / 10 < len(said) < len(answers) * 0.9, len(said) / len(answers)
