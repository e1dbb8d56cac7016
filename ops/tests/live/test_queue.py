"""The queue of a running Slurm with a job that is not submitted yet, by answers that real ones gave."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from places import OPS
from pretended_slurm import NODES, pretend, queue_entry

from astraea.cli.main import main
from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea_ops.forecast.moment import wish
from astraea_ops.forecast.start import would_start
from astraea_ops.live.queue import queue_now, read

ANSWERS = OPS / "tests" / "data" / "live" / "answers"
SLURM = get_policy("slurm")


@pytest.mark.parametrize("version", sorted(path.name for path in ANSWERS.iterdir()))
def test_answers_of_every_version(version: str) -> None:
    """Seven jobs run on 12 GPUs, of which a node of four is drained; what is held or depends on others is absent."""
    answers = read(ANSWERS / version / "squeue.json", ANSWERS / version / "nodes.json")
    queue = queue_now(answers, wish("gpus=2,account=vision,time=10m,partition=gpu"), SLURM)
    assert queue.cluster.node_gpus.tolist() == [4, 4, 0]
    assert queue.running["demand"].sum() == queue.cluster.gpus
    assert {node for parts in queue.running["held"] for node, _ in parts} == {0, 1}
    assert queue.waiting["job_id"].tolist() == ["16"]
    assert queue.rules.bonus[queue.waiting["row"]].tolist() == [100_000]
    assert queue.rules.bonus[queue.asked["row"]].tolist() == [100_000]
    assert queue.running["time_limit"].dtype == float


def files(folder: Path, *jobs: dict[str, object]) -> list[str]:
    """Files with answers, as options of the command."""
    (folder / "jobs").write_text(json.dumps({"jobs": jobs}))
    (folder / "nodes").write_text(json.dumps({"nodes": NODES}))
    return ["--jobs", str(folder / "jobs"), "--nodes", str(folder / "nodes")]


def running(id: int, node: str, gpus: int, began: int, minutes: int) -> dict[str, object]:
    """A job that runs."""
    there = {"nodes": node, "allocated_nodes": [{"nodename": node}]}
    return queue_entry(
        id, gpus=gpus, priority=5, job_state="RUNNING", state_reason="None", start_time=began, submit_time=began,
        time_limit=minutes, tres_alloc_str=f"gres/gpu={gpus}", job_resources=there, gres_detail=[f"gpu:{gpus}(IDX:0)"],
    )  # fmt: skip


def test_priorities_decide(tmp_path: Path) -> None:
    """Both nodes are full for another ten minutes; a job of a higher priority is before it, one of a lower is not."""
    now = int(time.time())
    jobs = [running(1, "n1", 8, now - 600, 20), running(2, "n2", 8, now - 600, 20)]
    for id, account, priority in ((3, "high", 900), (4, "low", 10)):
        jobs.append(queue_entry(id, account=account, gpus=16, priority=priority, state_reason="Priority",
                                time_limit=60))  # fmt: skip
    jobs.append(queue_entry(5, account="mine", gpus=16, priority=500, state_reason="Priority", submit_time=now - 30,
                            time_limit=60))  # fmt: skip
    options = files(tmp_path, *jobs)
    queue = queue_now(read(Path(options[1]), Path(options[3]))._replace(now=now), wish("gpus=16,account=mine"), SLURM)
    found = would_start(queue, draws=2)
    assert found.ahead["job_id"].tolist() == ["3", "5"]
    assert found.interval[1] == pytest.approx(600 + 2 * 3600, abs=20)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(time.time())
    jobs = [running(1, "n1", 8, now - 60, 20), running(2, "n2", 6, now - 60, 20)]
    assert main(["wait", "gpus=4,account=vision,time=1h", *files(tmp_path, *jobs)]) == 0
    from_files = capsys.readouterr().out.splitlines()
    assert len(from_files) == 5
    assert "2 of 16 GPUs are free, 2 jobs run, 0 wait" in from_files[0]
    assert "with 2 GPUs it would start at once" in from_files[3]
    pretend(tmp_path / "bin", jobs)
    (tmp_path / "bin" / "sinfo").write_text(
        f"#!/bin/sh\n[ $1 = --json ] && exec cat '{tmp_path}/nodes'; echo 'n1|gpu|up|gpu:8'\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert main(["wait", "gpus=4,account=vision,time=1h"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == from_files[3:]


@pytest.mark.parametrize(
    ("job", "said"),
    {
        "gpus=1,partition=other": "partition must be one of gpu; got 'other'",
        "gpus=1,at=2026-01-01": "at=... is for logs",
        "gpus=17,account=vision": "gpus=17 is more than the 16 GPUs that can be used",
        "gpus=x": "gpus must be a whole number",
    }.items(),
)
def test_what_cannot_be_answered(
    job: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wait", job, *files(tmp_path, queue_entry(1, priority=5, state_reason="Priority"))]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    {"{}": "unknown format", "[1]": "unknown format", "no": "not JSON", '{"jobs": [{}]}': "KeyError"}.items(),
)
def test_other_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    for name in ("jobs", "nodes"):
        files(tmp_path)
        (tmp_path / name).write_text(text)
        expected = said if name == "jobs" else "not JSON" if text == "no" else "expected the output of scontrol show"
        with pytest.raises(InputError, match=expected):
            read(tmp_path / "jobs", tmp_path / "nodes")
