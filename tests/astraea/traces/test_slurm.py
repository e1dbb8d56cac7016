"""Slurm's accounting: what each kind of row becomes, and that every row becomes something."""

from __future__ import annotations

import json
import random
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trace_samples import sacct_entry

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace, slurm
from astraea.traces.readers.table import NO_GPU, NO_TIME
from astraea.traces.trace import Trace

HEAD = "JobID|Account|User|Partition|QOS|Submit|Eligible|Start|End|State|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES"


def at(second: float | None) -> str:
    if second is None:
        return "Unknown"
    return (datetime(2026, 3, 1, 12) + timedelta(seconds=second)).isoformat()


def row(
    id: str, submit: float, start: float | None, end: float | None, gpus: str = "4", *, state: str = "COMPLETED",
    account: str = "vision", eligible: float | None = None, limit: str = "60",
) -> str:  # fmt: skip
    elapsed = "0" if start is None or end is None else f"{end - start:.0f}"
    tres = f"billing=1,cpu=8,gres/gpu={gpus},node=1" if "=" not in gpus else gpus
    moments = "|".join(map(at, (submit, submit if eligible is None else eligible, start, end)))
    given = tres if start is not None else ""
    return f"{id}|{account}|ann|gpu|normal|{moments}|{state}|{elapsed}|{limit}|{tres}|{given}"


def read(folder: Path, *rows: str, head: str = HEAD, tenant: str | None = None, weights: Path | None = None) -> Trace:
    file = folder / "log.txt"
    file.write_text("\n".join([head, *rows]) + "\n")
    return read_trace(file, tenant=tenant, weights=weights)


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


def test_json_of_newer_and_older_versions(tmp_path: Path) -> None:
    jobs = [
        sacct_entry(1, 110, 150),
        sacct_entry(2, 0, 0, state={"current": "PENDING"}),
        sacct_entry(4, 120, 130, array={"job_id": 3, "task_id": {"set": True, "infinite": False, "number": 0}}),
        sacct_entry(5, 120, 160, het={"job_id": 5, "job_offset": 0}),
        sacct_entry(6, 120, 160, het={"job_id": 5, "job_offset": 1}),
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"meta": {}, "jobs": jobs}))
    trace = read_trace(file)
    assert trace.frame[["job_id", "demand", "duration", "time_limit"]].to_numpy().tolist() == [
        ["1", 4, 40, 1800], ["3_0", 4, 10, 1800], ["5", 8, 40, 1800],
    ]  # fmt: skip
    assert trace.excluded_jobs["reason"].tolist() == [slurm.WAITS, slurm.PART]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (row("x1", 0, 1, 9), 'log.txt, line 2: JobID must be a number, as 12, 12_3, 12+1 or 12.batch, got "x1"'),
        (row("1", 0, 1, 9, state="DREAMING"), "line 2: State must be one of PENDING"),
        (row("1", 0, 1, 9).replace("12:00:01", "noon"), "line 2: Start must be a time YYYY-MM-DDTHH:MM:SS"),
        (row("1", 0, 9, 1), "line 2: End must be no time before Start"),
        (row("1", 0, 1, None), "line 2: End must be a time, as the job has ended"),
        (row("1", 0, 1, 9, limit="soon"), "line 2: TimelimitRaw must be a whole number of minutes, or UNLIMITED"),
        (row("1", 0, 1, 9) + "|more", "line 2: expected 14 columns, got 15; is there a | in a job's name?"),
        (row("1", 0, 1, 9, "gres/gpu=9999999"), "line 2: AllocTRES must be at most 1000000 GPUs"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, bad: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, bad)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_top_accounts_need_the_tree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs the tree of accounts"):
        read(tmp_path, row("1", 0, 1, 9), tenant="top-account")


def rows_of(file: Path) -> int:
    return sum(bool(line.strip()) for line in file.read_text().splitlines()) - 1


@pytest.mark.slow
@pytest.mark.parametrize("logs", [400, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_mutated_logs_lose_nothing(logs: int, tmp_path: Path) -> None:
    source = [
        row("1", 0, 10, 30, state="PREEMPTED"), row("1", 30, 50, 60), row("2", 5, 60, 90, "8", account="speech"),
        row("3", 6, None, None, state="PENDING"), row("4+0", 7, 90, 99), row("4+1", 7, 90, 99, "2"),
        row("5_1", 8, 91, 120), row("5_1.batch", 8, 91, 120), row("5_2", 8, 95, None, state="RUNNING"),
        row("6", 9, 100, 130, "cpu=4"), row("7", 9, None, 40, state="CANCELLED by 0"),
    ]  # fmt: skip
    rng = random.Random(7)
    text = "\n".join([HEAD, *source]) + "\n"
    alphabet = "0123456789|:-T_+.[]%,=ABCXYZabc /\n\t\0é" + "|" * 6
    file, read_well = tmp_path / "log.txt", 0
    for _ in range(logs):
        mutated = list(text)
        for _ in range(rng.choice((1, 1, 2, 5))):
            k = rng.randrange(len(HEAD) if rng.random() < 0.05 else 0, len(mutated))
            what = rng.random()
            if what < 0.5:
                mutated[k] = rng.choice(alphabet)
            elif what < 0.7:
                mutated[k : k + rng.randrange(1, 30)] = []
            elif what < 0.85:
                mutated[k:k] = rng.choice(source) + "\n"
            else:
                mutated[k:k] = mutated[k : k + rng.randrange(1, 60)]
        file.write_text("".join(mutated))
        try:
            trace = read_trace(file, format="slurm")
        except InputError as error:
            assert ("\n" not in str(error) and str(file) in str(error)) or "log:" in str(error)
            continue
        read_well += 1
        assert len(trace) + len(trace.excluded_jobs) == rows_of(file)
        assert trace.recorded is not None
        assert set(trace.recorded["job_id"]) == set(trace.job_id)
    assert read_well > logs / 10


def test_gpu_time_is_that_of_the_log(shared: Path) -> None:
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.observed import observed

    log = shared / "reference" / "slurm" / "sacct.txt"
    expected: dict[str, float] = {}
    lines = log.read_text().splitlines()
    names = lines[0].split("|")
    for line in lines[1:]:
        fields = dict(zip(names, line.split("|"), strict=True))
        gpus = [part for part in fields["AllocTRES"].split(",") if part.startswith("gres/gpu=")]
        used = int(gpus[0].removeprefix("gres/gpu=")) * int(fields["ElapsedRaw"]) if gpus else 0
        expected[fields["Account"]] = expected.get(fields["Account"], 0) + used
    trace = read_trace(log, weights=log.with_name("sshare.txt"))
    found = observed(trace, Cluster(4, 8)).jobs.groupby("tenant")["attained_service"].sum()
    assert found.to_dict() == expected
