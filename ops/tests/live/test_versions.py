"""Every version of Slurm answers in its own form about one small system, and all are read alike.

The answers were recorded by ops/tests/slurm/record_answers.py; ``24.11-v0.0.41`` are those of 24.11 in the form of
24.05.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from places import OPS

from astraea.core.units import DAY
from astraea.traces.columns import DETAILS
from astraea.traces.readers import read_trace
from astraea.traces.readers.rows import NO_GPU, NO_TIME
from astraea_ops.live.answers import Job, jobs_of, nodes_of, runs_of
from astraea_ops.live.slurm import Slurm
from astraea_ops.slurm.jobs import AGAIN, NEVER, PART, WAITS

ANSWERS = OPS / "tests" / "data" / "live" / "answers"
VERSIONS = sorted(folder.name for folder in ANSWERS.iterdir())
pytestmark = pytest.mark.parametrize("version", VERSIONS)


def answer(version: str, name: str) -> Any:
    return json.loads((ANSWERS / version / f"{name}.json").read_text())


def jobs(version: str) -> dict[str, Job]:
    return {job.id: job for job in jobs_of(answer(version, "squeue"))}


def alike(job: Job) -> tuple[Any, ...]:
    """Everything of a job except names of nodes and values of times: which times it has, and its reason to wait."""
    times = {time: float(getattr(job, time) > 0) for time in ("submit", "eligible", "start", "end")}
    reason = job.reason if job.state == "PENDING" else ""
    limit = 0.0 if math.isnan(job.time_limit) or job.time_limit == 365 * DAY else job.time_limit  # no limit, by version
    on_nodes = dict(enumerate(job.on_nodes.values()))
    return job._replace(**times, reason=reason, time_limit=limit, on_nodes=on_nodes)  # type: ignore[arg-type]


def test_jobs_are_those_of_the_oldest_version(version: str) -> None:
    found, oldest = jobs(version), jobs(VERSIONS[0])
    expedited, failed = found.pop("5"), oldest.pop("5")
    if version < "25.11":
        assert expedited.state == failed.state == "FAILED"
    else:  # --requeue=expedite: it waits, until its user has looked why it failed
        assert (expedited.state, expedited.held, expedited.restarts) == ("REQUEUE_HOLD", True, 1)
    assert {id: alike(job) for id, job in found.items()} == {id: alike(job) for id, job in oldest.items()}


def test_jobs(version: str) -> None:
    found = jobs(version)
    states = {id: job.state for id, job in found.items() if id != "5"}
    assert states == {
        "1": "COMPLETED", "2": "COMPLETED", "3": "FAILED", "4": "SPECIAL_EXIT", "6": "RUNNING", "7": "RUNNING",
        "8": "PENDING", "9": "CANCELLED", "10": "RUNNING", "11_0": "RUNNING", "11_1": "RUNNING", "11_2": "PENDING",
        "11_3": "PENDING", "11_4": "PENDING", "12": "RUNNING", "13": "RUNNING", "16": "PENDING", "17": "PENDING",
        "18": "PENDING", "19": "PENDING",
    }  # fmt: skip
    gang = found["6"]
    assert (gang.demand, gang.nodes, gang.per_node, gang.saves) == (4, 2, 2, True)
    assert list(gang.on_nodes.values()) == [2, 2]
    assert (found["7"].restarts, found["8"].restarts, found["2"].demand, found["16"].demand) == (1, 1, 0, 12)
    assert [id for id, job in found.items() if job.held and id != "5"] == ["4", "8", "18"]
    assert [id for id, job in found.items() if job.depends] == ["17"]
    assert [id for id, job in found.items() if not job.requeues and id != "10"] == ["18"]
    assert [id for id, job in found.items() if job.is_part] == ["12", "13"]
    assert {job.at_once for job in found.values() if job.array == "11"} == {2}
    assert (found["16"].partition, found["19"].partition) == ("gpu,other", "other")


def test_nodes(version: str) -> None:
    found = nodes_of(answer(version, "nodes"), "gpu")
    assert [(node.name, node.gpus, node.is_usable) for node in found] == [
        ("n1", 4, True), ("n2", 4, True), ("n3", 4, False),
    ]  # fmt: skip


def test_runs(version: str) -> None:
    found = runs_of((ANSWERS / version / "runs.txt").read_text())
    times = {(run.id, run.state): (run.submit > 0, run.start > 0, run.end > 0, run.demand) for run in found}
    assert {of: times[of] for of in times if of[0] != "5"} == {
        ("1", "COMPLETED"): (True, True, True, 1), ("2", "COMPLETED"): (True, True, True, 0),
        ("3", "FAILED"): (True, True, True, 1), ("4", "REQUEUED"): (True, True, True, 1),
        ("4", "PENDING"): (True, False, False, 1), ("6", "RUNNING"): (True, True, False, 4),
        ("7", "REQUEUED"): (True, True, True, 1), ("7", "RUNNING"): (True, True, False, 1),
        ("8", "REQUEUED"): (True, True, True, 1), ("8", "PENDING"): (True, False, False, 1),
        ("9", "CANCELLED"): (True, version == VERSIONS[0], True, 12), ("10", "RUNNING"): (True, True, False, 1),
        ("11_0", "RUNNING"): (True, True, False, 1), ("11_1", "RUNNING"): (True, True, False, 1),
    }  # fmt: skip


def test_the_moment_of_the_start(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ANSWERS / version / "config.txt").read_text()
    monkeypatch.setattr(Slurm, "_run", lambda *_, **__: text)
    assert 1.7e9 < Slurm("gpu").boot() <= min(job.submit for job in jobs(version).values())
    assert re.search(rf"^SLURM_VERSION\s*= {version.partition('-')[0]}", text, re.M)


def test_both_forms_of_a_log_are_one(version: str, tmp_path: Path) -> None:
    entries = answer(version, "sacct")["jobs"]
    random.Random(version).shuffle(entries)  # slurmdbd gives them in any order
    (tmp_path / "sacct.json").write_text(json.dumps({"jobs": entries}))
    text, document = read_trace(ANSWERS / version / "sacct.txt"), read_trace(tmp_path / "sacct.json")
    pd.testing.assert_frame_equal(text.frame, document.frame)
    assert text.recorded is not None and document.recorded is not None
    pd.testing.assert_frame_equal(text.recorded, document.recorded)
    aside, same = (trace.excluded_jobs.sort_values("job_id", ignore_index=True) for trace in (text, document))
    pd.testing.assert_frame_equal(aside.drop(columns=["line", "priority"]), same.drop(columns=["line", "priority"]))
    assert text.details is not None and document.details is not None
    for column, unknown in DETAILS.items():
        told = text.details[column]
        if (told.notna() & (told != unknown)).any():  # the text has less columns
            assert told.tolist() == document.details[column].tolist(), column
    others = aside[~aside["job_id"].str.startswith("5")]
    assert dict(zip(others["job_id"], others["reason"], strict=True)) == {
        "2": NO_GPU, "4 #2": WAITS, "7": AGAIN, "8 #2": WAITS, "12+1": PART, "16": WAITS,
        "9": NO_TIME if version == VERSIONS[0] else NEVER,
    }  # fmt: skip
