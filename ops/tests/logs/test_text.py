"""Slurm's accounting as it is printed: bars in texts, missing headers, chunks, and other versions and programs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sacct_rows import at, read, row
from slurm_logs import HEAD
from trace_samples import SACCT_JSON, sacct_entry

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea_ops.slurm import files as slurm_files
from astraea_ops.slurm import jobs as slurm_jobs
from astraea_ops.slurm.words import hosts_of

XDMOD = (
    "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,End,Elapsed,ExitCode,State,"
    "NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,NodeList,JobName"
)
SONAR = (
    "JobID,JobIDRaw,User,Account,State,Start,End,AveCPU,AveDiskRead,AveDiskWrite,AveRSS,AveVMSize,ElapsedRaw,ExitCode,"
    "Layout,MaxRSS,MaxVMSize,MinCPU,ReqCPUS,ReqMem,ReqNodes,Reservation,Submit,Suspended,SystemCPU,TimelimitRaw,UserCPU,"
    "NodeList,Partition,AllocTRES,Priority,JobName"
)


def test_a_bar_in_what_users_write(tmp_path: Path) -> None:
    head = "JobID|JobName|Account|Submit|Start|End|State|AllocTRES"
    jobs = [f"{k}|{name}|vision|{'|'.join(map(at, (0, 1, 9)))}|COMPLETED|gres/gpu=1" for k, name in
            enumerate(["plain", "a|b", "||", "x|2026-03-01T12:00:00"])]  # fmt: skip
    assert len(read(tmp_path, *jobs, head=head)) == 4
    jobs = [f"{job}|{text}" for job in jobs for text in ("", "a100|v100", "|")]
    for last in ("Constraints", "SubmitLine"):
        trace = read(tmp_path, *(job.replace("|", f"{k}|", 1) for k, job in enumerate(jobs)), head=f"{head}|{last}")
        assert len(trace) == 12 and set(trace.tenants) == {"vision"}


def test_a_bar_in_a_command_is_no_constraint(tmp_path: Path) -> None:
    head = "JobID|JobName|Account|Submit|Start|End|State|AllocTRES|Constraints|SubmitLine"
    job = f"|x|vision|{'|'.join(map(at, (0, 1, 9)))}|COMPLETED|gres/gpu=1|"
    texts = {
        "|sbatch --wrap cat x | sort": "", "a100|sbatch --wrap cat x | sort | uniq": "a100",
        "a100|v100|sbatch x": "a100|v100", "a100|v100|sbatch --wrap a|b": "a100|v100", "a100|": "a100",
    }  # fmt: skip
    trace = read(tmp_path, *(f"{k}{job}{text}" for k, text in enumerate(texts, 1)), head=head)
    assert trace.details is not None
    assert trace.details["constraint"].tolist() == list(texts.values())


def test_many_bars_stop_no_log(tmp_path: Path) -> None:
    fields = ["JobName", "SubmitLine", "Comment", "AdminComment", "SystemComment", "Constraints", "WorkDir", "WCKey"]
    head = "|".join(["JobID", *fields[:4], "Account", "Submit", "Start", "End", "State", "AllocTRES", *fields[4:]])
    row = f"|sbatch x|||vision|{'|'.join(map(at, (0, 1, 9)))}|COMPLETED|gres/gpu=1" + "|" * (len(fields) - 4)
    rows = f"1|{row}", f"2|{'|' * 25}{row}", f"3|{row}{'|' * 25}"
    assert read(tmp_path, *rows, head=head).job_id.tolist() == ["1", "2", "3"]
    began = time.perf_counter()
    spoilt = f"4|{row}{'|' * 16}".replace("COMPLETED", "DREAMING")
    assert len(read(tmp_path, f"1|{row}", *(spoilt for _ in range(10)), head=head)) == 1
    assert time.perf_counter() - began < 20  # without a limit on the trials, each row takes a minute


def test_a_log_without_a_header_line(tmp_path: Path) -> None:
    rows = row("1", 0, 1, 9), row("2", 0, 1, 9)
    file = tmp_path / "log.txt"
    file.write_text("\n".join(rows))
    with pytest.raises(InputError, match=r"line 1: expected a header line, got a job.*give --columns with the names"):
        read_trace(file)
    assert read_trace(file, columns=HEAD.split("|")).job_id.tolist() == ["1", "2"]
    with pytest.raises(InputError, match=r"none of the 2 rows is a job .*2 has another number of columns"):
        read_trace(file, columns=HEAD.split("|")[:-1])
    file.write_text("JobID  State\n-----  -----\n1  COMPLETED\n")
    with pytest.raises(InputError, match=r"line 1: expected fields separated by \|; make the log with sacct -P"):
        read_trace(file)


def test_before_slurm_20_11(tmp_path: Path) -> None:
    """GPUs have their own lists; a request is per node."""
    head = "JobID|Account|Submit|Start|End|State|NNodes|NCPUS|AllocTRES|ReqGRES|AllocGRES"
    moments = "|".join(map(at, (0, 1, 9)))
    lists = {"gpu:2|gpu:4": 4, "gpu:v100:2|": 4, "gpu|gpu:k80:1,gpu:v100:2": 3, "gpu:0|": 0, "craynetwork:1|": 0}
    rows = [f"{k}|vision|{moments}|COMPLETED|2|16|cpu=16,node=2|{gres}" for k, gres in enumerate(lists)]
    trace = read(tmp_path, *rows, head=head)
    assert trace.demand.tolist() == [4, 4, 3]
    assert read_trace(tmp_path / "log.txt", resource="cpu").demand.tolist() == [16] * 5
    assert read(tmp_path, *(r.replace("cpu=16,node=2", "") for r in rows), head=head).demand.tolist() == [4, 4, 3]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_chunks(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends of chunks make no difference."""
    jobs = [row(f"9_{k}", k, k + 1, k + 9, account="vision" if k % 3 else "speech") for k in range(10)]
    (tmp_path / "log.json").write_text(json.dumps(SACCT_JSON))
    whole, document = read(tmp_path, *jobs), read_trace(tmp_path / "log.json")
    monkeypatch.setattr(slurm_files, "CHUNK", rows)
    monkeypatch.setattr(slurm_files, "_SIZE", 7)
    for one, other in ((whole, read(tmp_path, *jobs)), (document, read_trace(tmp_path / "log.json"))):
        pd.testing.assert_frame_equal(one.frame, other.frame)
        assert one.details is not None and other.details is not None
        pd.testing.assert_frame_equal(one.details, other.details)
        pd.testing.assert_frame_equal(one.excluded_jobs, other.excluded_jobs, check_categorical=False)


@pytest.mark.parametrize("value", [2**32 - 2, -2, None, {"set": False, "infinite": False, "number": 0}, 2**64 - 2])
def test_no_value_in_any_field(value: object, tmp_path: Path) -> None:
    """Jobs that never started, as newer versions write them; and an entry that is no job."""
    file = tmp_path / "log.json"
    time = dict.fromkeys(("eligible", "start", "end", "elapsed", "limit"), value) | {"submission": 1_767_225_600}
    never = sacct_entry(7, 0, 0, state={"current": ["CANCELLED"], "reason": None}, time=time, priority=value)
    asked = [{"type": "gres", "name": "gpu", "count": 4}, {"type": "energy", "count": value}]
    never["tres"] = {"allocated": [], "requested": asked}
    file.write_text(json.dumps({"jobs": [sacct_entry(1, 110, 150), never, {"job_id": 8}]}))
    trace = read_trace(file)
    assert trace.job_id.tolist() == ["1"]
    assert trace.excluded_jobs["line"].astype(str).tolist() == ["2", "3"]
    assert trace.excluded_jobs["reason"].tolist() == [slurm_jobs.NEVER, "is not a job of sacct --json"]


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("n[1-3,7]", "n1 n2 n3 n7"), ("n1,gpu[08-10]", "n1 gpu08 gpu09 gpu10"), ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ("a[1-2]-ib", "a1-ib a2-ib"), ("None assigned", ""), ("n[1-999999999]", "n1-999999999"), ("n[", "n"),
    ],
)  # fmt: skip
def test_names_of_nodes(nodes: str, names: str) -> None:
    assert hosts_of(nodes) == tuple(names.split())


def test_limits_in_words(tmp_path: Path) -> None:
    rows = [row(str(k), 0, 1, 9, limit=x) for k, x in enumerate(["1-02:03:04", "00:30:00", "Partition_Limit"])]
    trace = read(tmp_path, *rows, head=HEAD.replace("TimelimitRaw", "Timelimit"))
    np.testing.assert_array_equal(trace.time_limit, [86_400 + 2 * 3600 + 3 * 60 + 4, 1800, np.nan])


def test_json_of_newer_and_older_versions(tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"meta": {}, **SACCT_JSON}))
    trace = read_trace(file)
    assert trace.frame[["job_id", "demand", "duration", "time_limit"]].to_numpy().tolist() == [
        ["1", 4, 40, 1800], ["3_0", 4, 10, 1800], ["5", 8, 40, 1800],
    ]  # fmt: skip
    assert trace.excluded_jobs["reason"].tolist() == [slurm_jobs.PART, slurm_jobs.WAITS]


@pytest.mark.parametrize("name", ["phillips.log", "sonar-fox-2025-09_noheader.txt", "unit-accounting-logs.log"])
def test_logs_of_others(name: str, shared: Path) -> None:
    """Rows as sacct -n printed them; every one is a job, or listed with the reason."""
    log = shared / "data" / "slurm-logs" / name
    columns = SONAR if name.startswith("sonar") else XDMOD
    with pytest.raises(InputError, match=r"expected a header line.*--columns"):
        read_trace(log)
    trace = read_trace(log, columns=columns.split(","), resource="cpu")
    assert len(trace) + len(trace.excluded_jobs) == len(log.read_bytes().splitlines())
    assert trace.unreadable.empty and trace.details is not None and (trace.details["node_list"] != "").all()
