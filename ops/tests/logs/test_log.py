"""Slurm's accounting: the job, or the reason, that each kind of row becomes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sacct_rows import at, read, row
from slurm_logs import HEAD

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.readers.rows import NO_GPU, NO_TIME
from astraea.traces.readers.table import WIDTH
from astraea.traces.trace import Trace
from astraea_ops.slurm import jobs as slurm_jobs
from astraea_ops.slurm import log as slurm


def test_a_job(tmp_path: Path) -> None:
    rows = row("7", 10, 40, 100), row("6", 0, 0, 30, "2", account="speech", limit="UNLIMITED")
    trace = read(tmp_path, *rows)
    assert trace.job_id.tolist() == ["6", "7"]
    assert trace.frame["tenant"].tolist() == ["speech", "vision"]
    assert trace.user.tolist() == ["ann", "ann"]
    assert trace.demand.tolist() == [2, 4]
    assert trace.submit_time.tolist() == [0, 10]
    assert trace.duration.tolist() == [30, 60]
    assert trace.queueing_delay.tolist() == [0, 30]
    np.testing.assert_array_equal(trace.time_limit, [np.nan, 3600])
    assert trace.state.tolist() == ["completed", "completed"]
    assert trace.origin == pd.Timestamp("2026-03-01T12:00:00")
    assert trace.recorded is not None
    assert trace.recorded.to_dict("list") == {"job_id": ["6", "7"], "start": [0, 40], "end": [30, 100]}

    order = random.Random(1).sample(range(14), 14)

    def shuffled(line: str) -> str:
        fields = line.split("|")
        return "|".join(fields[k] for k in order) + "|"

    other = read(tmp_path, *map(shuffled, rows), head=shuffled(HEAD))  # any order of columns, and a trailing bar
    pd.testing.assert_frame_equal(trace.frame, other.frame)


def aside(trace: Trace) -> dict[str, str]:
    """Reason of each excluded row, by its line."""
    return dict(zip(trace.excluded_jobs["line"].astype(str), trace.excluded_jobs["reason"], strict=True))


def test_rows_that_cannot_be_read_are_excluded(tmp_path: Path) -> None:
    good = row("1", 0, 60, 3660)
    bad = {
        row("2", 0, 60, None): "End is not a time (the job has ended)",
        row("3", 0, 60, 50): "End is not at or after Start",
        row("4", 0, 60, 3660, state="DREAMING"): "State is not one of ",
        row("5", 0, 60, 3660, limit="soon"): "TimelimitRaw is not a whole number of minutes",
        row("6", 0, 60, 3660, "9999999"): "AllocTRES is not a whole number of GPUs, at most",
        good.replace("1|", "one|", 1): "JobID is not a number",
        good.replace("2026", "1926", 1): "Submit is not a time YYYY-MM-DDTHH:MM:SS of this century",
        good[:40]: WIDTH,
        good + "|more": WIDTH,
        HEAD: "is the header line again",
    }
    trace = read(tmp_path, good, *bad, row("2.batch", 0, 60, None, state="?"), row("7", 0, None, None, state="PENDING"))
    assert trace.job_id.tolist() == ["1"]
    found = aside(trace)
    assert all(found[str(line)].startswith(reason) for line, reason in enumerate(bad.values(), 3))
    assert (found["13"], found["14"]) == (slurm_jobs.STEP, slurm_jobs.WAITS)
    assert sorted(trace.unreadable["line"]) == [*range(3, 13)]
    hours = trace.excluded_jobs.set_index("line")["gpu_hours"]
    assert (hours[5], hours[14]) == (4.0, 0.0) and np.isnan(hours[13])
    assert len(read(tmp_path, good, *bad).unreadable) == len(bad)


def test_a_run_of_more_than_ten_years_is_excluded(tmp_path: Path) -> None:
    """Its year is wrong, and a replay of it would take hours."""
    year = 365 * 86_400
    trace = read(tmp_path, row("1", 0, 60, 60 + 9 * year), row("2", 0, 60, 60 + 11 * year))
    assert trace.job_id.tolist() == ["1"]
    assert trace.unreadable["reason"].tolist() == ["End is not at most 10 years after Start"]


def test_waiting_jobs_without_a_request(tmp_path: Path) -> None:
    head = "JobID|Account|Submit|Start|End|State|AllocTRES"
    rows = f"1|a|{at(0)}|{at(1)}|{at(9)}|COMPLETED|gres/gpu=1", f"2|a|{at(2)}|Unknown|Unknown|PENDING|"
    assert read(tmp_path, *rows, head=head).excluded_jobs["reason"].tolist() == [slurm_jobs.UNTOLD]
    asked = [f"{line}|cpu=1" for line in rows]
    assert read(tmp_path, *asked, head=f"{head}|ReqTRES").excluded_jobs["reason"].tolist() == [NO_GPU]


@pytest.mark.parametrize(
    ("resource", "demand"),
    [("gres/gpu", [4, 2]), ("gres/gpu:a100", [3]), ("cpu", [8, 64]), ("node", [1, 2]), ("billing", [7])],
)
def test_resources(tmp_path: Path, resource: str, demand: list[int]) -> None:
    one = row("1", 0, 1, 9, "billing=7,cpu=8,gres/gpu=4,gres/gpu:a100=3,node=1")
    two = row("2", 0, 1, 9, "cpu=64,gres/gpu=2,mem=1.5G,node=2")
    file = tmp_path / "log.txt"
    file.write_text("\n".join([HEAD, one, two]))
    assert read_trace(file, resource=resource).demand.tolist() == demand


def test_logs_of_two_months_in_one_file(tmp_path: Path) -> None:
    """A run in both files counts once; a job that still ran at the end of the first file has ended in the second."""
    running = row("2", 0, 30, None, state="RUNNING")
    trace = read(tmp_path, row("1", 0, 1, 9), running, HEAD, row("2", 0, 30, 90), row("1", 0, 1, 9))
    assert trace.frame[["job_id", "duration"]].to_numpy().tolist() == [["1", 8], ["2", 60]]
    assert aside(trace) == {"2": slurm_jobs.TWICE, "3": slurm_jobs.TWICE, "4": "is the header line again"}


def test_typed_gpus(tmp_path: Path) -> None:
    gpus = {
        "cpu=8,gres/gpu:a100=4,node=1": 4,
        "cpu=8,gres/gpu=6,gres/gpu:a100=4,gres/gpu:v100=2,node=1": 6,
        "cpu=8,gres/gpu:a100=4,gres/gpu:v100=2,node=1": 6,
        "cpu=8,gres/gpumem=40G,gres/gpu=1": 1,
    }
    rows = [row(str(k), 0, 1, 9, tres) for k, tres in enumerate(gpus)]
    assert read(tmp_path, *rows).demand.tolist() == list(gpus.values())


def test_details(tmp_path: Path) -> None:
    head = "JobID|Account|Submit|Start|End|State|AllocTRES|ReqTRES|ReqMem|NNodes|NodeList|Reason|Flags|Priority"
    moments = "|".join(map(at, (0, 1, 9)))
    one = f"1|vision|{moments}|COMPLETED|gres/gpu=4|cpu=4,mem=1.5G,gres/gpu:a100=4|512Mn|2|n[1-2]|None|SchedMain|17"
    two = f"2|speech|{moments}|COMPLETED|gres/gpu:v100=1|gres/gpu=1|512Mn|2|None assigned|QOSMaxJobsPerUserLimit||"
    details = read(tmp_path, one, two, head=head).details
    assert details is not None
    assert details.astype(object).where(details.notna(), None).to_dict("list") == {
        "account": ["vision", "speech"], "user": ["", ""], "partition": ["", ""], "qos": ["", ""],
        "constraint": ["", ""], "gpu_type": ["a100", ""], "gpus": [4, 1], "cpus": [4, None], "memory": [1536, 1024],
        "nodes": [2, 2],
        "node_list": ["n[1-2]", ""], "reason": ["", "QOSMaxJobsPerUserLimit"], "flags": ["SchedMain", ""],
        "priority": [17, None], "restarts": [None, None],
    }  # fmt: skip


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
        "1.batch": slurm_jobs.STEP, "1.extern": slurm_jobs.STEP, "2": NO_GPU, "3": slurm_jobs.NEVER,
        "4": slurm_jobs.WAITS, "5_[3-9%2]": slurm_jobs.WAITS, "6": NO_TIME,
    }  # fmt: skip
    waiting = trace.excluded_jobs.set_index("job_id").loc["4"]
    assert (waiting["tenant"], waiting["demand"], waiting["submit_time"]) == ("vision", 2, 2)


def test_when_a_job_came_and_how_long_it_ran(tmp_path: Path) -> None:
    """A job that depends on another is submitted when it may start; one that still runs has run until the log ends."""
    running = row("3", 5, 20, None, state="RUNNING").replace("|0|60|", "|80|60|")
    trace = read(tmp_path, row("1", 0, 0, 50), row("2", 1, 60, 70, eligible=50), running)
    assert dict(zip(trace.job_id, trace.submit_time, strict=True)) == {"1": 0, "2": 50, "3": 5}
    assert dict(zip(trace.job_id, trace.queueing_delay, strict=True)) == {"1": 0, "2": 10, "3": 15}
    assert dict(zip(trace.job_id, trace.duration, strict=True)) == {"1": 50, "2": 10, "3": 80}
    assert dict(zip(trace.job_id, trace.state, strict=True)) == {"1": "completed", "2": "completed", "3": "unknown"}


def test_tasks_components_and_numbers_that_come_again(tmp_path: Path) -> None:
    """Tasks of an array are jobs, components are one gang, a number after the end of its job is a new job."""
    trace = read(
        tmp_path,
        row("9_1", 0, 0, 5), row("9_2", 0, 5, 9), row("9_10", 0, 9, 12),
        row("3+0", 1, 2, 9, "cpu=1,node=1"), row("3+1", 1, 2, 9, "8"), row("3+1.0", 1, 2, 9),
        row("1", 2, 10, 30), row("1", 500, 510, 530),
    )  # fmt: skip
    assert trace.job_id.tolist() == ["9_1", "9_2", "9_10", "3", "1", "1 #2"]
    assert trace.demand.tolist() == [4, 4, 4, 8, 4, 4]
    assert trace.excluded_jobs["reason"].tolist() == [slurm_jobs.PART, slurm_jobs.STEP]


def test_runs_of_a_requeued_job_are_one(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        row("1", 0, 10, 30, state="PREEMPTED"), row("1", 30, 50, 60, state="NODE_FAIL"), row("1", 60, 70, 170),
        row("2", 80, 90, 110, state="REQUEUED"), row("2", 110, None, None, state="PENDING"),
    )  # fmt: skip
    assert (trace.submit_time.tolist(), trace.duration.tolist()) == ([0, 80], [100, 20])
    assert trace.queueing_delay.tolist() == [10, 10]
    assert trace.recorded is not None
    assert trace.recorded[["start", "end"]].to_numpy().tolist() == [[10, 30], [50, 60], [70, 170], [90, 110]]
    assert trace.excluded_jobs["reason"].tolist() == [slurm_jobs.AGAIN, slurm_jobs.AGAIN, slurm_jobs.WAITS]


def test_rows_that_are_impossible_beside_others(tmp_path: Path) -> None:
    """A job has one run at a time, and none before the first job came."""
    runs = row("1", 0, 10, 30, state="NODE_FAIL"), row("1", 20, 25, 60), row("2", 5, -9, 9)
    trace = read(tmp_path, *runs)
    assert trace.recorded is not None
    assert trace.recorded[["start", "end"]].to_numpy().tolist() == [[10, 25], [25, 60]]
    assert trace.excluded_jobs["reason"].tolist() == [slurm_jobs.AGAIN, slurm_jobs.EARLY]
    assert trace.unreadable["line"].tolist() == [4]
    with pytest.raises(InputError, match="line 4"):
        read_trace(tmp_path / "log.txt", strict=True)


def test_tenants_by_choice(tmp_path: Path) -> None:
    rows = row("1", 0, 1, 9), row("2", 0, 1, 9, account="")
    for chosen, tenants in (
        (None, (slurm.NOBODY, "vision")), ("user", ("ann",)), ("partition", ("gpu",)), ("qos", ("normal",)),
    ):  # fmt: skip
        assert read(tmp_path, *rows, tenant=chosen).tenants == tenants


def test_the_tree_of_accounts_gives_the_weights(tmp_path: Path) -> None:
    shares = tmp_path / "sshare.txt"
    shares.write_text("""Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.000000|1445|1.000000|
 root|root|1|0.200000|0|0.000000|1.000000
 lab||3|0.600000|149|0.103423|
  vision||2|0.400000|149|0.103423|
   vision|ann|1|1.000000|149|1.000000|0.500000
  speech||1|0.200000|57|0.039445|
 nlp||1|0.200000|1238|0.857132|
""")
    rows = row("1", 0, 1, 9), row("2", 0, 1, 9, account="speech")
    leaves = read(tmp_path, *rows, weights=shares)
    assert dict(zip(leaves.tenants, leaves.tenant_weight, strict=True)) == {"nlp": 0.2, "speech": 0.2, "vision": 0.4}
    tops = read(tmp_path, *rows, weights=shares, tenant="top-account")
    assert dict(zip(tops.tenants, tops.tenant_weight, strict=True)) == {"lab": 0.6, "nlp": 0.2}
    assert tops.frame["tenant"].tolist() == ["lab", "lab"]
    with pytest.raises(InputError, match="sshare gives shares of accounts, but the tenant is the user"):
        read(tmp_path, *rows, weights=shares, tenant="user")
    with pytest.raises(InputError, match="none of the 1 rows is a job"):
        read(tmp_path, "1|too|short", weights=shares, tenant="top-account")
    with pytest.raises(InputError, match=r"line 2: Account must be one of lab, .*, got \"new\""):
        read(tmp_path, row("1", 0, 1, 9, account="new"), weights=shares, tenant="top-account")


def test_gpu_time_is_that_of_the_log(shared: Path) -> None:
    log = shared / "reference" / "slurm" / "sacct.txt"
    rows = pd.read_csv(log, sep="|", dtype=str).fillna("")
    gpus = rows["AllocTRES"].str.extract(r"(?:^|,)gres/gpu=(\d+)")[0].fillna("0").astype(int)
    used = gpus * rows["ElapsedRaw"].astype(int)
    trace = read_trace(log, weights=log.with_name("sshare.txt"))
    found = observed(trace, Cluster(4, 8)).jobs.groupby("tenant")["attained_service"].sum()
    assert found.to_dict() == used.groupby(rows["Account"]).sum().to_dict()


def test_a_limit_beyond_all_times_refuses_no_log(tmp_path: Path) -> None:
    head = HEAD.replace("TimelimitRaw", "Timelimit")
    good, bad = row("1", 0, 0, 60, limit="1-02:03:04"), row("2", 0, 0, 60, limit="999999-00:00:00")
    trace = read(tmp_path, good, bad, head=head)
    assert trace.time_limit.tolist() == [93784.0] and len(trace.unreadable) == 1
