"""Every public format: small files of the same form, and real workloads, with figures of their own descriptions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from trace_samples import ASTRAEA, CHRONUS, GAVEL7, GAVEL10, HELIOS, MURI, PHILLY, SACCT, SIZES, SPEEDS, SWF, TIRESIAS

from astraea.core.errors import InputError
from astraea.traces.describe import describe_text
from astraea.traces.readers import read_trace, recognise
from astraea.traces.readers.table import read_start


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a file below a temporary folder."""

    def writer(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return writer


def test_tiresias_is_told_the_unit(write: Any) -> None:
    path = write("jobs.csv", TIRESIAS)
    trace = read_trace(path, time_unit="s")
    assert trace.tenants == ("jobs",)
    assert trace.name == "jobs"
    assert trace.duration.tolist() == [164.0, 147.0]
    assert trace.demand.tolist() == [1, 8]
    assert read_trace(path, time_unit="min").duration.tolist() == [9840.0, 8820.0]
    assert read_trace(path, time_unit="ms").submit_time.tolist() == [0.0, 0.03]


def test_headers_tell_units_and_tenants(write: Any) -> None:
    trace = read_trace(write("a.csv", ASTRAEA))
    assert trace.tenants == ("north", "south")
    assert trace.submit_time.tolist() == [190.0, 273.0]
    np.testing.assert_array_equal(trace.deadline, [2190.0, np.nan])
    assert trace.user.tolist() == ["north", "south"]
    assert trace.excluded_jobs.to_numpy().tolist() == [
        ["2", "asks for 0 GPUs", 4, "", 0], ["3", "ran for 0 s", 5, "", 0],
    ]  # fmt: skip
    assert read_trace(write("a.csv", ASTRAEA), time_unit="min").submit_time[0] == 190.0 * 60  # what is given wins
    lines = ASTRAEA.splitlines()
    turned = "\n".join([lines[0], *reversed(lines[1:])])
    assert read_trace(write("b.csv", turned)).digest == trace.digest
    shares = write("share.csv", "vc,node num\nnorth,3\nsouth,1\nidle,2\n")
    shared = read_trace(write("a.csv", ASTRAEA), weights=shares)
    assert (shared.tenants, shared.tenant_weight.tolist()) == (("idle", "north", "south"), [2.0, 3.0, 1.0])
    chronus, muri = read_trace(write("c.csv", CHRONUS)), read_trace(write("m.csv", MURI))  # their headers tell the unit
    assert chronus.duration.tolist() == [12660.0, 1860.0, 1860.0]
    np.testing.assert_array_equal(chronus.deadline, [(12 + 282) * 60.0, (19 + 88) * 60.0, np.nan])
    assert (muri.submit_time.tolist(), muri.duration.tolist()) == ([0.0, 2016.941], [2868.294, 4472.936])


def test_folder_is_one_tenant_per_file(write: Any, tmp_path: Path) -> None:
    for name, text in {"b.csv": TIRESIAS, "a.csv": ASTRAEA, "README.md": "not a trace"}.items():
        write(f"vcs/{name}", text)
    trace = read_trace(tmp_path / "vcs", time_unit="s", weights={"a": 1, "b": 3})
    assert trace.name == "vcs"
    assert trace.tenants == ("a", "b")
    assert trace.tenant_weight.tolist() == [1.0, 3.0]
    assert trace.job_id.tolist() == ["b/0", "b/1", "a/0", "a/1"]
    assert trace.user.tolist() == ["b", "b", "north", "south"]
    assert trace.excluded_jobs["job_id"].tolist() == ["a/2", "a/3"]
    (tmp_path / "vcs" / "b.csv").unlink()  # a folder with one file is that file
    assert read_trace(tmp_path / "vcs").tenants == ("north", "south")


def test_columns_of_the_users_own_files(write: Any) -> None:
    header = "job_id,tenant,user,num_gpu,submit_time,duration,time_limit\n"
    trace = read_trace(write("a.csv", header + "x,t,u,1,0,5,30\ny,t,u,1,0,5,\n"), time_unit="min")
    assert (trace.tenants, trace.user.tolist()) == (("t",), ["u", "u"])
    np.testing.assert_array_equal(trace.time_limit, [1800.0, np.nan])  # in the unit of the file
    text = "JobNo,team,gpus,came,ran,user,num_gpu\na,x,2,0,30,ann,99\nb,y,4,5,60,bob,99\n"
    names = {"job_id": "JobNo", "tenant": "team", "demand": "gpus", "submit_time": "came", "duration": "ran"}
    trace = read_trace(write("b.csv", text), time_unit="s", columns=names)
    assert trace.frame[["job_id", "tenant", "user", "demand", "duration"]].to_numpy().tolist() == [
        ["a", "x", "ann", 2, 30], ["b", "y", "bob", 4, 60],
    ]  # fmt: skip


def test_gzip_blank_lines_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    text = "\ufeff" + TIRESIAS.replace("\n", "\r\n").replace("1,8", "\r\n 1 , 8 ")
    path.write_bytes(gzip.compress(text.encode()))
    trace = read_trace(path, time_unit="s")
    assert (trace.name, trace.tenants) == ("t", ("t",))
    assert trace.job_id.tolist() == ["0", "1"]
    with pytest.raises(InputError, match=r"t\.csv\.gz, line 4: num_gpu must be .*, got \"8x\""):
        path.write_bytes(gzip.compress(text.replace(" 8 ", "8x").encode()))
        read_trace(path, time_unit="s", strict=True)


def test_helios(write: Any) -> None:
    write("Venus/cluster_gpu_number.csv", SIZES)
    venus = write("Venus/cluster_log.csv", HELIOS).parent
    trace = read_trace(venus)
    assert trace.name == "Venus"
    assert trace.origin == pd.Timestamp("2020-04-01 00:00:10")
    assert trace.tenants == ("vcA", "vcB", "vcIdle")
    assert trace.tenant_weight.tolist() == [72.0, 16.0, 8.0]  # of the last day with GPUs, whatever the order of rows
    assert trace.job_id.tolist() == ["7", "9", "10", "14"]
    assert trace.submit_time.tolist() == [0.0, 10.0, 20.0, 86400.0]
    assert trace.duration.tolist() == [3600.0, 5.0, 6.0, 1.0]
    assert trace.queueing_delay.tolist() == [60.0, 0.0, 0.0, 0.0]
    assert trace.state.tolist() == ["completed", "failed", "failed", "cancelled"]
    assert trace.user.tolist() == ["ua", "ub", "ub", "ub"]
    assert dict(zip(trace.excluded_jobs["job_id"], trace.excluded_jobs["reason"], strict=True)) == {
        "8": "is a CPU job (0 GPUs)",
        "11": "ran for 0 s",
        "12": "never started",
        "13": "its virtual cluster has no GPUs in cluster_gpu_number.csv",
    }
    assert read_trace(venus / "cluster_log.csv", format="helios").digest == trace.digest
    (venus / "cluster_gpu_number.csv").unlink()
    assert "13" in read_trace(venus, weights={"vcA": 1, "vcB": 1, "vcZ": 1}).job_id


def test_philly(tmp_path: Path) -> None:
    (tmp_path / "cluster_job_log").write_text(json.dumps(PHILLY, indent=1))
    trace = read_trace(tmp_path)
    assert trace.origin == pd.Timestamp("2017-10-07 01:00:00")
    assert trace.job_id.tolist() == ["app_1", "app_2", "app_3"]
    assert trace.tenants == ("b436b2", "ee9e8c")
    assert trace.demand.tolist() == [8, 1, 1]
    assert trace.duration.tolist() == [640.0, 60.0, 5.0]  # attempts only, not the wait between them
    assert trace.queueing_delay.tolist() == [30.0, 120.0, 240.0]
    assert trace.state.tolist() == ["completed", "cancelled", "failed"]
    assert trace.user.tolist() == ["ce2f4c", "b436b2", "ce2f4c"]
    assert dict(zip(trace.excluded_jobs["job_id"], trace.excluded_jobs["reason"], strict=True)) == {
        "none": "has no attempt",
        "no-gpu": "lists no GPU",
        "running": "was still running when the log was taken",
        "no-times": "has no attempt with a start and an end",
        "instant": "ran for 0 s",
        "early": "starts before it was submitted",
        "clocks": "ran in the hour that clocks repeated",
    }


def test_gavel(write: Any) -> None:
    speeds = write("tables/t.json", json.dumps(SPEEDS))
    old = read_trace(write("a.trace", GAVEL7), throughputs=speeds)
    assert old.job_id.tolist() == ["0", "1"]
    assert old.duration.tolist() == [100.0, 125.0]
    assert old.submit_time.tolist() == [0.0, 50.5]
    assert old.demand.tolist() == [1, 2]
    assert old.excluded_jobs["reason"].tolist() == [
        "its job type cannot run on that many V100s (throughput 0)",
        "its job type was not measured on that many V100s",
    ]
    new = read_trace(write("b.trace", GAVEL10), throughputs=speeds)
    assert new.weight.tolist() == [1.0, 5.0]
    np.testing.assert_array_equal(new.deadline, [np.nan, 50 + 1.2 * 125.0])
    write("tables/simulation_throughputs.json", json.dumps(SPEEDS))  # which is found beside the traces
    write("tables/x.trace", GAVEL7)
    both = read_trace(write("tables/y.trace", GAVEL10).parent)
    assert (both.tenants, sorted(both.job_id)) == (("x", "y"), ["x/0", "x/1", "y/0", "y/1"])


def test_standard_workload_format(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_text("; a comment\n" + SWF + "3 9 0 -1 2 -1 -1 2 600 -1 5 8 4 1 1 2 -1 -1\n"
                    "4 11 0 20 -1 -1 -1 -1 600 -1 1 8 4 1 1 2 -1 -1\n")  # fmt: skip
    trace = read_trace(file)
    assert trace.frame[["job_id", "tenant", "user", "demand", "submit_time", "duration"]].to_numpy().tolist() == [
        ["1", "3", "7", 4, 0, 100], ["2", "4", "8", 8, 5, 50],
    ]  # fmt: skip
    np.testing.assert_array_equal(trace.queueing_delay, [30, np.nan])
    np.testing.assert_array_equal(trace.time_limit, [600, np.nan])
    assert trace.state.tolist() == ["completed", "failed"]
    assert trace.origin == pd.Timestamp("2001-09-09T01:46:40")
    assert dict(trace.excluded_jobs[["job_id", "reason"]].to_numpy()) == {"3": "never ran", "4": "asks for 0 GPUs"}
    assert read_trace(file, tenant="user").tenants == ("7", "8")


def test_rows_that_cannot_be_read_are_excluded(write: Any) -> None:
    """Unreadable rows of a CSV file and of an SWF log are listed with line, reason and value."""
    text = "job_id,num_gpu,submit_time,duration\n1,4,0,3600\n2,four,0,5\n3,1\n1,1,0,5\n4,1,0,\n\"5,1,0,5\n6,2,9,9\n"
    trace = read_trace(write("a.csv", text), time_unit="s")
    assert trace.job_id.tolist() == ["1", "6"]
    assert trace.unreadable[["line", "reason", "detail"]].to_numpy().tolist() == [
        [3, "num_gpu is not a whole number of GPUs from 0 to 1000000", '"four"'],
        [5, "job_id is not unique", "1"],
        [6, "duration is not a time of at least 0 and at most 1e+10 s", '""'],
        [4, "has another number of columns", "2, not 4"],
        [7, "is not a row of a table", '"5,1,0,5'],
    ]
    trace = read_trace(write("a.swf", SWF + "3 1\n4 soon 0 20 4 -1 -1 4 600 -1 1 8 4 1 1 2 -1 -1\n"))
    assert trace.unreadable[["line", "reason", "gpu_hours"]].fillna(-1).to_numpy().tolist() == [
        [5, "submit time is not a time of at least 0 and at most 1e+10 s, or -1", 80 / 3600],
        [4, "has another number of columns", -1],
    ]
    with pytest.raises(InputError, match=r"a\.swf, line 4: expected 18 columns, got 2"):
        read_trace(write("a.swf", SWF + "3 1\n"), strict=True)


def test_workload_format_with_gpus(write: Any) -> None:
    trace = read_trace(write("a.swf", SWF.replace(" -1 -1\n", " -1 -1 16 0 0\n")))
    assert (trace.demand.tolist(), trace.duration.tolist()) == ([16, 16], [100, 50])


@pytest.mark.parametrize(
    ("known", "start"),
    [("philly", "[" + " " * (1 << 17)), ("slurm", "\ufeff\n" + SACCT), ("swf", "; a\n\n" + SWF)],
)
def test_a_log_is_recognised_by_its_beginning(known: str, start: str, tmp_path: Path) -> None:
    """The bytes behind are not read; here they are no text."""
    log = tmp_path / "log"
    for pack in (bytes, gzip.compress):
        log.write_bytes(pack(start.encode() + b" " * (1 << 18) + b"\xff"))
        assert recognise(log) == known
        assert len(read_start(log)) <= 1 << 16
        with pytest.raises(InputError, match=r"not a text file, byte .* is not UTF-8"):
            read_trace(log, strict=True)


def test_philly_vcs(shared: Path) -> None:
    trace = read_trace(shared / "data" / "philly-vcs")
    assert len(trace) == 10_879
    assert trace.tenants == ("trace1", "trace2", "trace3", "trace4")
    assert np.bincount(trace.tenant).tolist() == [1494, 5755, 992, 2638]
    assert trace.span == 10_817_570.0  # milliseconds, told by the header
    assert trace.duration.min() == 1.0
    assert len(trace.excluded_jobs) == 0


def test_chronus(shared: Path) -> None:
    trace = read_trace(shared / "data" / "philly-chronus")
    assert len(trace) == 30_940 - 205
    assert trace.excluded_jobs["reason"].tolist() == ["asks for 0 GPUs"] * 205
    assert trace.excluded_jobs["job_id"].iloc[0] == "188"
    assert len(trace.tenants) == 11
    assert trace.span == 20_151 * 60.0
    assert trace.duration.min() == 20 * 60.0
    assert (trace.deadline > trace.submit_time).all()
    text = describe_text(trace)
    assert "30735 jobs of 11 tenants in 14.0 days" in text
    assert "excluded: 205 rows\n       205  asks for 0 GPUs\n" in text
    # the reference input is the same trace in seconds, renumbered, without the jobs of 0 GPUs
    reference = read_trace(shared / "reference" / "chrSLO.input.csv.gz")
    for column in ("submit_time", "demand", "duration", "tenant"):
        ours, theirs = (sorted(zip(t.submit_time, getattr(t, column), strict=True)) for t in (trace, reference))
        assert ours == theirs, column


def test_two_weeks_are_a_window_of_the_virtual_clusters(shared: Path) -> None:
    reference = read_trace(shared / "reference" / "w2.input.csv.gz")
    window = read_trace(shared / "data" / "philly-vcs").window(28 * 86400, 42 * 86400)
    assert len(reference) == len(window) == 2049
    assert reference.tenants == ("vc1", "vc2", "vc3", "vc4")
    np.testing.assert_array_equal(np.bincount(reference.tenant), np.bincount(window.tenant))
    np.testing.assert_allclose(np.sort(reference.duration), np.sort(window.duration), atol=1.0)
    np.testing.assert_allclose(np.sort(reference.submit_time), np.sort(window.submit_time), atol=1.0)
    assert window.history is not None


def test_gavel_in_its_older_and_its_current_form(shared: Path) -> None:
    gavel = shared / "data" / "gavel"
    table = gavel / "simulation_throughputs.json"
    trace = read_trace(shared / "data" / "philly-gavel", throughputs=table)
    assert len(trace.tenants) == 15
    assert len(trace) + len(trace.excluded_jobs) == 15_264
    assert trace.excluded_jobs["reason"].unique().tolist() == ["its job type was not measured on that many V100s"]
    # one virtual cluster is in both collections: same arrivals, same gangs
    assert trace.submit_time[trace.tenant == trace.tenants.index("7f04ca")].max() == 10_817_570.0
    trace = read_trace(gavel / "physical_cluster" / "max_min_fairness.trace", throughputs=table)
    assert (len(trace), trace.tenants) == (96, ("max_min_fairness",))
    assert np.isnan(trace.deadline).all()
