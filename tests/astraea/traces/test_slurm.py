"""Slurm's accounting: what each kind of row becomes, and that every row becomes something."""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from slurm_rows import HEAD, read, row

from astraea.core.errors import InputError
from astraea.traces.readers import slurm
from astraea.traces.readers.table import NO_GPU, NO_TIME


def test_a_job(tmp_path: Path) -> None:
    trace = read(tmp_path, row("7", 10, 40, 100), row("6", 0, 0, 30, "2", account="speech", limit="UNLIMITED"))
    assert trace.job_id.tolist() == ["6", "7"]
    assert trace.frame["tenant"].tolist() == ["speech", "vision"]
    assert trace.user.tolist() == ["ann", "ann"]
    assert trace.demand.tolist() == [2, 4]
    assert trace.submit_time.tolist() == [0, 10]
    assert trace.duration.tolist() == [30, 60]
    assert trace.queueing_delay.tolist() == [0, 30]
    assert trace.time_limit.tolist()[1] == 3600 and np.isnan(trace.time_limit[0])
    assert trace.state.tolist() == ["completed", "completed"]
    assert trace.origin == pd.Timestamp("2026-03-01T12:00:00")
    assert trace.recorded is not None
    assert trace.recorded.to_dict("list") == {"job_id": ["6", "7"], "start": [0, 40], "end": [30, 100]}


def test_columns_in_any_order_and_a_trailing_bar(tmp_path: Path) -> None:
    rows = [row("1", 0, 1, 9), row("2", 3, 9, 20, account="speech")]
    order = list(range(len(HEAD.split("|"))))
    random.Random(1).shuffle(order)

    def shuffled(line: str) -> str:
        fields = line.split("|")
        return "|".join(fields[k] for k in order) + "|"

    plain = read(tmp_path, *rows)
    other = read(tmp_path, *map(shuffled, rows), head=shuffled(HEAD))
    pd.testing.assert_frame_equal(plain.frame, other.frame)


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=8,gres/gpu:a100=4,node=1", 4),
        ("cpu=8,gres/gpu=6,gres/gpu:a100=4,gres/gpu:v100=2,node=1", 6),
        ("cpu=8,gres/gpu:a100=4,gres/gpu:v100=2,node=1", 6),
        ("cpu=8,gres/gpumem=40G,gres/gpu=1", 1),
    ],
)
def test_typed_gpus(tmp_path: Path, tres: str, gpus: int) -> None:
    assert read(tmp_path, row("1", 0, 1, 9, tres)).demand.tolist() == [gpus]


def test_what_is_no_job_says_why(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        row("1", 0, 5, 9),
        row("1.batch", 0, 5, 9),
        row("1.extern", 0, 5, 9),
        row("2", 1, 2, 9, "cpu=8,node=1"),
        row("3", 1, None, 8, state="CANCELLED by 1000"),
        row("4", 2, None, None, "2", state="PENDING"),
        row("5_[3-9%2]", 2, None, None, state="PENDING"),
        row("6", 2, 6, 6, state="FAILED"),
    )
    assert trace.job_id.tolist() == ["1"]
    assert trace.excluded_jobs.set_index("job_id")["reason"].to_dict() == {
        "1.batch": slurm.STEP, "1.extern": slurm.STEP, "2": NO_GPU, "3": slurm.NEVER, "4": slurm.WAITS,
        "5_[3-9%2]": slurm.WAITS, "6": NO_TIME,
    }  # fmt: skip
    waiting = trace.excluded_jobs.set_index("job_id").loc["4"]
    assert (waiting["tenant"], waiting["demand"], waiting["submit_time"]) == ("vision", 2, 2)


def test_who_waits_for_another_job_is_submitted_when_it_may_start(tmp_path: Path) -> None:
    trace = read(tmp_path, row("1", 0, 0, 50), row("2", 1, 60, 70, eligible=50))
    assert trace.submit_time.tolist() == [0, 50]
    assert trace.queueing_delay.tolist() == [0, 10]


def test_who_runs_still_has_run_until_the_log_ends(tmp_path: Path) -> None:
    running = row("2", 5, 20, None, state="RUNNING").replace("|0|60|", "|80|60|")
    trace = read(tmp_path, row("1", 0, 0, 50), running)
    assert trace.duration.tolist() == [50, 80]
    assert trace.state.tolist() == ["completed", "unknown"]


def test_tasks_of_an_array_are_jobs(tmp_path: Path) -> None:
    trace = read(tmp_path, row("9_1", 0, 0, 5), row("9_2", 0, 5, 9), row("9_10", 0, 9, 12))
    assert trace.job_id.tolist() == ["9_1", "9_2", "9_10"]


def test_components_are_one_gang(tmp_path: Path) -> None:
    trace = read(tmp_path, row("3+0", 0, 2, 9, "cpu=1,node=1"), row("3+1", 0, 2, 9, "8"), row("3+1.0", 0, 2, 9))
    assert (trace.job_id.tolist(), trace.demand.tolist()) == (["3"], [8])
    assert trace.excluded_jobs["reason"].tolist() == [slurm.PART, slurm.STEP]


def test_runs_of_a_requeued_job_are_one(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        row("1", 0, 10, 30, state="PREEMPTED"),
        row("1", 30, 50, 60, state="NODE_FAIL"),
        row("1", 60, 70, 170),
    )
    assert (trace.submit_time.tolist(), trace.duration.tolist()) == ([0], [100])
    assert trace.queueing_delay.tolist() == [10]
    assert trace.recorded is not None
    assert trace.recorded[["start", "end"]].to_numpy().tolist() == [[10, 30], [50, 60], [70, 170]]
    assert trace.excluded_jobs["reason"].tolist() == [slurm.AGAIN, slurm.AGAIN]


def test_many_requeued_jobs_are_read_quickly(tmp_path: Path) -> None:
    rows = [row(str(k), 0, 5, 9, state="PREEMPTED") for k in range(2000)] + [row(str(k), 9, 9, 20) for k in range(2000)]
    began = time.process_time()
    trace = read(tmp_path, *rows)
    assert time.process_time() - began < 5  # a second; a loop over jobs takes twelve
    assert len(trace) == len(trace.excluded_jobs) == 2000
    assert (trace.duration == 11).all()


def test_who_waits_again_has_run(tmp_path: Path) -> None:
    trace = read(tmp_path, row("1", 0, 10, 30, state="REQUEUED"), row("1", 30, None, None, state="PENDING"))
    assert trace.duration.tolist() == [20]
    assert trace.excluded_jobs["reason"].tolist() == [slurm.WAITS]


def test_a_number_that_comes_again_is_a_new_job(tmp_path: Path) -> None:
    trace = read(tmp_path, row("1", 0, 10, 30), row("1", 500, 510, 530))
    assert trace.job_id.tolist() == ["1", "1 #2"]


def test_tenants_by_choice(tmp_path: Path) -> None:
    rows = row("1", 0, 1, 9), row("2", 0, 1, 9, account="")
    assert read(tmp_path, *rows).tenants == (slurm.NOBODY, "vision")
    assert read(tmp_path, *rows, tenant="user").tenants == ("ann",)
    assert read(tmp_path, *rows, tenant="partition").tenants == ("gpu",)
    assert read(tmp_path, *rows, tenant="qos").tenants == ("normal",)


TREE = """Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.000000|1445|1.000000|
 root|root|1|0.200000|0|0.000000|1.000000
 lab||3|0.600000|149|0.103423|
  vision||2|0.400000|149|0.103423|
   vision|ann|1|1.000000|149|1.000000|0.500000
  speech||1|0.200000|57|0.039445|
 nlp||1|0.200000|1238|0.857132|
"""


def test_the_tree_of_accounts_gives_the_weights(tmp_path: Path) -> None:
    shares = tmp_path / "sshare.txt"
    shares.write_text(TREE)
    rows = row("1", 0, 1, 9), row("2", 0, 1, 9, account="speech")
    leaves = read(tmp_path, *rows, weights=shares)
    assert dict(zip(leaves.tenants, leaves.tenant_weight, strict=True)) == {"nlp": 0.2, "speech": 0.2, "vision": 0.4}
    tops = read(tmp_path, *rows, weights=shares, tenant="top-account")
    assert dict(zip(tops.tenants, tops.tenant_weight, strict=True)) == {"lab": 0.6, "nlp": 0.2}
    assert tops.frame["tenant"].tolist() == ["lab", "lab"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" lab||", "||", 'line 4: Account must be a name, got ""'),
        (" nlp||", "nlp||", "line 8: Account must be indented at least as far as the first account below the root"),
        ("root|||", "other|||", "line 2: NormShares must be a number above 0"),
        (" nlp||", " lab||", 'line 8: Account must be unique, got "lab"'),
    ],
)
def test_a_tree_that_cannot_be_read(tmp_path: Path, old: str, new: str, says: str) -> None:
    shares = tmp_path / "sshare.txt"
    shares.write_text(TREE.replace(old, new))
    with pytest.raises(InputError, match=says):
        read(tmp_path, row("1", 0, 1, 9), weights=shares)


def test_top_accounts_need_the_tree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs the tree of accounts"):
        read(tmp_path, row("1", 0, 1, 9), tenant="top-account")
