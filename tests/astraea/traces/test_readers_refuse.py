"""Input that readers refuse: one sentence with the file, the line, the column, the value and the expectation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from trace_samples import ASTRAEA, GAVEL7, GAVEL10, HELIOS, PHILLY, SACCT, SACCT_JSON, SIZES, SPEEDS, SSHARE, SWF

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace

TINY = "job_id,num_gpu,submit_time,duration\n0,1,0,5\n1,2,3,6\n"
OPTIONAL = (
    "user", "weight", "sensitivity", "state", "queueing_delay", "deadline", "time_limit", "best_effort", "expect_time",
    "expect_time_list",
)  # fmt: skip
GPUS = "num_gpu must be a whole number of GPUs from 0 to 1000000, got"
TIME = "must be a time of at least 0 and at most 1e+10 s, got"
DATE = "must be a time YYYY-MM-DD HH:MM:SS, got"
STEPS = "total_steps must be a number of steps above 0 and at most 1e+15, got"
BOUND = "must be a number of at most 1e+10 s, or nothing, got"
SHARE = "share must be a number above 0, got"


def refused(path: Path, **options: Any) -> str:
    """The message, which must be one sentence on one line."""
    with pytest.raises(InputError) as caught:
        read_trace(path, strict=True, **options)
    message = str(caught.value)
    assert "\n" not in message and "Traceback" not in message
    return message


class Kind(NamedTuple):
    """Good files, the one to spoil first; which is read, and how."""

    files: dict[str, str]
    log: str = "log"
    options: Mapping[str, Any] = MappingProxyType({})


SECONDS = {"format": "tiresias-csv", "time_unit": "s"}
KINDS = {
    "csv": Kind({"log": TINY}, options=SECONDS),
    **{
        column: Kind({"log": f"job_id,num_gpu,submit_time,duration,{column}\n0,1,0,5,<>\n"}, options=SECONDS)
        for column in OPTIONAL
    },
    "helios": Kind({"cluster_log.csv": HELIOS, "cluster_gpu_number.csv": SIZES}, "", {"format": "helios"}),
    "sizes": Kind({"cluster_gpu_number.csv": SIZES, "cluster_log.csv": HELIOS}, ""),
    "gavel": Kind({"log": GAVEL7, "simulation_throughputs.json": json.dumps(SPEEDS)}, options={"format": "gavel"}),
    "gavel10": Kind({"log": GAVEL10, "simulation_throughputs.json": json.dumps(SPEEDS)}, options={"format": "gavel"}),
    "speeds": Kind({"simulation_throughputs.json": "<>", "log": GAVEL7}),
    "philly": Kind({"log": "<>"}, options={"format": "philly"}),
    "jobs of philly": Kind({"log": json.dumps(PHILLY)}, options={"format": "philly"}),
    "swf": Kind({"log": SWF}, options={"format": "swf"}),
    "slurm": Kind({"log": SACCT}, options={"format": "slurm"}),
    "time limit": Kind({"log": SACCT.replace("TimelimitRaw", "Timelimit").replace("|60|", "|<>|")}),
    "slurm json": Kind({"log": json.dumps(SACCT_JSON)}, options={"format": "slurm"}),
    "sshare": Kind({"weights": SSHARE, "log": SACCT}),
    "shares": Kind({"weights": "name,share\nnorth,1\nsouth,2\n", "log": ASTRAEA}),
}  # fmt: skip

SPOILT: dict[str, list[tuple[str, str, str]]] = {
    "csv": [
        ("1,2,3,6", "1,nan,3,6", f'line 3: {GPUS} "nan"'),
        ("1,2,3,6", "1,1_0,3,6", f'line 3: {GPUS} "1_0"'),
        ("1,2,3,6\n", "1,2,3,6\n2,x,3,6\n3,y,3,6\n4,z,3,6\n", f'line 4: {GPUS} "x" (and 2 more like it)'),
        ("1,2,3,6", "1,2,1e12,6", f'line 3: submit_time {TIME} "1e12"'),
        ("1,2,3,6", "1,2,3,-6", f'line 3: duration {TIME} "-6"'),
        ("1,2,3,6", "0,2,3,6", 'line 3: job_id must be unique, got "0"'),
        ("1,2,3,6", ",2,3,6", 'line 3: job_id must be a name, got ""'),
        ("1,2,3,6", "1,2,3,6,7", "line 3: expected 4 columns, got 5"),
        ("1,2,3,6", '1,2,3,"6', "line 3: not a table (unexpected end of data)"),
        ("0,1,0,5", '"two\nlines",1,0,x', f'line 2: duration {TIME} "x"'),
        ("num_gpu", "gpus", "line 1: column 'num_gpu' is missing; found job_id, gpus, submit_time, duration"),
        ("duration", "job_id", "line 1: column 'job_id' appears twice"),
        ("0,1,0,5\n1,2,3,6\n", "", "there is no job in it"),
    ],
    "user": [("<>", "", 'line 2: user must be a name, got ""')],
    "weight": [("<>", "0", 'line 2: weight must be a number above 0, got "0"')],
    "sensitivity": [("<>", "2", 'line 2: sensitivity must be a speed above 0 and at most 1, got "2"')],
    "state": [("<>", "lost", 'line 2: state must be one of completed, cancelled, failed, unknown, got "lost"')],
    "queueing_delay": [("<>", "-1", f'line 2: queueing_delay {TIME} "-1"')],
    "deadline": [("<>", "later", f'line 2: deadline {BOUND} "later"')],
    "time_limit": [
        ("<>", "0", 'line 2: time_limit must be a time above 0 and at most 1e+10 s, or nothing, got "0"'),
    ],
    "best_effort": [("<>", "2", 'line 2: best_effort must be 0 or 1, got "2"')],
    "expect_time": [("<>", "x", f'line 2: expect_time {BOUND} "x"')],
    "expect_time_list": [("<>", "a-b", f'line 2: expect_time_list {BOUND} "a"')],
    "helios": [
        ("COMPLETED,", "DONE,", "line 2: state must be one of COMPLETED"),
        ("COMPLETED,2020-04-01 00:00:10", "COMPLETED,", f'line 2: submit_time {DATE} ""'),
        ("2020-04-01 01:01:10", "2020-04-01 00:01:09", "line 2: end_time must be no earlier than start_time, got"),
        ("2020-04-01 01:01:10", "2020-13-01 00:01:09", f"line 2: end_time {DATE}"),
        ("3600,60", "-1,60", f'line 2: duration {TIME} "-1"'),
        ("\n9,ub", "\n7,ub", 'line 4: job_id must be unique, got "7"'),
        ("7,ua,vcA", "7,,vcA", 'line 2: user must be a name, got ""'),
        (",queue\n", ",wait\n", "line 1: column 'queue' is missing"),
        (HELIOS[HELIOS.index("\n7,"):], "\n8,ub,vcA,0,1,1,COMPLETED,,,,9,0\n", "none of the 1 jobs uses a GPU"),
    ],
    "sizes": [
        (SIZES, "date,\x1b[2J\n2020-09-02,x\n", r'line 2: \x1b[2J must be a whole number of GPUs '),
        ("2020-09-02", "yesterday", 'line 2: date must be a date YYYY-MM-DD, got "yesterday"'),
        ("date", "day", "line 1: column 'date' is missing"),
        (SIZES, "date,vcA,total\n2020-09-02,0,0\n", "no virtual cluster has a GPU in it"),
    ],
    "gavel": [
        ("\t1000\t", "\tmany\t", f'line 1: {STEPS} "many"'),
        ("\t1000\t", "\t1e14\t", "line 1: total_steps must be at most 1e+10 s of work at the measured throughput"),
        ("\t50.5\t2", "\t50.5", "line 2: expected 7 columns, got 6"),
        ("ResNet-50", "ResNet-51", 'line 1: job_type must be a job type of the throughputs table, got "ResNet-51'),
    ],
    "gavel10": [
        ("\t5\t1.2", "\t0\t1.2", 'line 2: priority must be a number above 0, got "0"'),
        ("\t5\t1.2", "\t5\t0", "line 2: SLO must be a multiple of the duration, or below 0 for none, got"),
        ("wd\t", "", "line 1: expected 7 or 10 tab-separated columns, got 9"),
    ],
    "speeds": [
        ("<>", "{", "line 1: not JSON"),
        ("<>", "[]", "key 'v100' must contain the throughputs"),
        ("<>", '{"v100": {"ResNet": {"null": 1}}}', "v100 must have \"('job type', scale factor)\" with a number"),
    ],
    "philly": [
        ("<>", '[{"a": 1},\n{"a" 2}]', "line 2: not JSON"),
        ("<>", '{"a": 1}', "line 1: expected a list of jobs, got dict"),
        ("<>", "[]", "there is no job in it"),
        ("<>", "[1]", "job 1: expected an object with jobid, vc, ..., got"),
        ("<>", "[" * 100_000, "not JSON"),
    ],
    "jobs of philly": [
        ('"Pass"', '"Lost"', 'job 1 ("app_1"): status must be one of Pass, Killed, Failed, got "Lost"'),
        ('"vc": "ee9e8c"', '"vc": null', 'job 1 ("app_1"): vc must be a text, got None'),
        ('"vc": "ee9e8c"', '"vc": "\\ud800"', 'job 1 ("app_1"): vc must be a text, got'),
        ('"jobid": "app_1"', '"jobid": 7', 'job 1 ("7"): jobid must be a text, got 7'),
        ('"jobid": "app_2"', '"jobid": "app_1"', 'job 2 ("app_1"): jobid must be unique, got "app_1"'),
        ('"2017-10-07 01:00:00"', '"None"', f'job 1 ("app_1"): submitted_time {DATE} "None"'),
        ('"attempts": [', '"attempts": [3, ', 'job 1 ("app_1"): attempts must be a list of objects, got [3'),
        ('"2017-10-07 01:00:30"', "3", f'job 1 ("app_1"): start_time {DATE} 3'),
        ('"gpus": [', '"gpus": 8, "old": [', 'job 1 ("app_1"): gpus must be a list of GPUs, got 8'),
        ('"2017-10-07 01:10:30"', '"x"', f'job 1 ("app_1"): end_time {DATE} "x"'),
        ("07 01:10:30", "07 01:00:29", 'job 1 ("app_1"): end_time must be no earlier than start_time, got "2017-'),
    ],
    "swf": [
        (" 7 3 ", " 7 ", "line 2: expected 18 columns, got 17"),
        (" 100 ", " -100 ", 'line 2: run time must be a time of at least 0 and at most 1e+10 s, or -1, got "-100"'),
        (" 4 -1", " 4.5 -1", "line 2: allocated processors must be a whole number of GPUs"),
        ("-1 1 7", "-1 1e999 7", 'line 2: status must be a whole number from -1 to 5, got "1e999"'),
    ],
    "slurm": [
        ("\n7|", "\nx1|", 'line 2: JobID must be a number such as 12, 12_3, 12+1 or 12.batch, got "x1"'),
        ("|COMPLETED|", "|DREAMING|", "line 2: State must be one of PENDING"),
        ("T12:00:05|", "Tnoon|", "line 2: Start must be a time YYYY-MM-DDTHH:MM:SS"),
        ("T12:09:00|", "T12:00:04|", "line 2: End must be at or after Start"),
        ("2026-03-01T12:09:00|", "Unknown|", "line 2: End must be a time (the job has ended)"),
        ("2026-03-01T12:00:00|", "Unknown|", "line 2: Submit must be a time, got"),
        ("|60|", "|soon|", "line 2: TimelimitRaw must be a whole number of minutes, or UNLIMITED"),
        ("gpu=4\n", "gpu=4|more\n", "line 2: expected 11 columns, got 12; is there a | in a job's name?"),
        ("gpu=4\n", "gpu=9999999\n", "line 2: AllocTRES must be a whole number of GPUs, at most 1000000, got 9999999"),
        ("|Account|", "|Konto|", "line 1: column 'Account' is missing; found JobID, Konto"),
        ("|ReqTRES|AllocTRES", "|A|B", "line 1: the columns AllocTRES and ReqTRES are missing, which give the"),
    ],
    "time limit": [("<>", "soon", "line 2: Timelimit must be a time [days-]hours:minutes:seconds, or UNLIMITED")],
    "slurm json": [
        ('"jobs"', '"jibs"', "expected a list of jobs, as sacct --json prints it, found none"),
        ('["COMPLETED"]', "[null]", "job 1 of the list: State must be one of PENDING"),
        ('"time"', '"Time"', "job 1 of the list: not a job of sacct --json (KeyError: 'time')"),
    ],
    "sshare": [
        (" vision||", "||", 'line 3: Account must be a name, got ""'),
        (" nlp||", "nlp||", "line 6: Account must be indented at least as far as the first account below the root"),
        ("root|||", "other|||", "line 2: NormShares must be a number above 0"),
        (" nlp||", " vision||", 'line 6: Account must be unique, got "vision"'),
    ],
    "shares": [
        ("south,2", "south,0", f'line 3: {SHARE} "0"'),
        ("south,2", "north,2", 'line 3: name must be unique, got "north"'),
        ("name,share\nnorth,1\nsouth,2", "name\nx", "line 1: expected columns tenant and weight, then any of parent, "),
        ("share\nnorth,1\nsouth,2", "share,due\nx,1,2", "line 1: expected columns tenant and weight, then any of "),
        ("share\nnorth,1\nsouth,2", "share,quota\nx,1,-1", "line 2: quota must be a number of GPUs of at least 0"),
        ("share\nnorth,1\nsouth,2", "share,limit\nx,1,all", "line 2: limit must be a number of GPUs of at least 0"),
        ("share\nnorth,1\nsouth,2", "share,priority\nx,1,.5", "line 2: priority must be a whole number, or nothing"),
        ("share\nnorth,1\nsouth,2", "share,parent\nx,1,y", "the parent y of x has no row"),
        ("share\nnorth,1\nsouth,2", "share,parent\nx,1,y\ny,1,x", "y is its own parent or ancestor"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"), [(kind, *case) for kind, cases in SPOILT.items() for case in cases]
)
def test_spoilt_files(tmp_path: Path, kind: str, old: str, new: str, says: str) -> None:
    files, log, options = KINDS[kind]
    spoilt, text = next(iter(files.items()))
    assert old in text
    for name, good in (files | {spoilt: text.replace(old, new, 1)}).items():
        (tmp_path / name).write_text(good)
    if "weights" in files:
        options = {"weights": tmp_path / "weights"}
    message = refused(tmp_path / log, **options)
    assert message.startswith((f"{tmp_path / spoilt}, {says}", f"{tmp_path / spoilt}: {says}"))


def test_tenants_without_a_weight(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(ASTRAEA)
    message = refused(path, weights={"north": 1.0, "east": 1.0})
    assert message == f"{path}, line 3: tenant 'south' has no weight; weights are given for east, north"
    message = refused(path, weights={"north": -1.0})
    assert message == "a: the weight of tenant 'north' must be a number above 0, got -1.0"


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (TINY, {"format": "pbs"}, "format must be one of tiresias-csv, helios, philly, gavel, swf, "
         "acme, supercloud, kestrel, spot-gpu, slurm, got 'pbs'"),
        (TINY, {"time_unit": "h"}, "time unit must be one of ms, s, min, got 'h'"),
        (TINY, {}, "the columns do not imply the unit of submit_time and duration; give the time unit ("),
        (ASTRAEA.replace("\n", ",x\n"), {}, "give the time unit"),
        (TINY, {"format": "gavel", "time_unit": "s"}, "time_unit can be given for the format tiresias-csv only"),
        (TINY, {"throughputs": "t.json"}, "throughputs can be given for the format gavel only; this file is"),
        (TINY, {"tenant": "user"}, "tenant can be given for the format slurm or swf only; this file is"),
        (SWF, {"columns": {"tenant": "t"}, "format": "swf"}, "columns as OURS=THEIRS,... can be given for"),
        (TINY, {"columns": {"demand": "GPU"}}, "column 'GPU' is missing"),
        (TINY, {"columns": {"gpus": "num_gpu"}}, "a column must be one of demand, job_id"),
        (SACCT, {"tenant": "group"}, "tenant must be one of account, top-account, user, partition, qos, got 'group'"),
        (SACCT, {"tenant": "top-account"}, "needs the tree of accounts: give weights from sshare -P -a"),
        (GAVEL7, {}, "no such file of throughputs, which turn steps into seconds; download it with `astraea"),
        (TINY.replace(",2,", ",0,").replace(",1,", ",0,"), SECONDS, "log: none of the 2 rows is a job that can be"),
    ],
)
def test_options(tmp_path: Path, text: str, options: dict[str, Any], says: str) -> None:
    (tmp_path / "log").write_text(text)
    assert says in refused(tmp_path / "log", **options)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "there is no such file or folder"),
        (b"", "the file is empty"),
        (b"job_id,\xff\xfe", "not a text file, byte 7 is not UTF-8"),
        (b"\x1f\x8bgarbage", "the gzip file is damaged"),
        (b"hello world", "the format cannot be detected from its content; give it with format (--format)"),
        (HELIOS[: HELIOS.index("\n")].encode() + b",num_gpu\n", "the format could be tiresias-csv or helios; give"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes | None, says: str) -> None:
    path = tmp_path / "a.csv"
    if data is not None:
        path.write_bytes(data)
    assert refused(path).startswith(f"{path}: {says}")


def test_folders(tmp_path: Path) -> None:
    assert "cannot be detected" in refused(tmp_path)
    says = "the folder has no file whose name ends in .csv or .csv.gz"
    assert says in refused(tmp_path, format="tiresias-csv")
    (tmp_path / "a.csv").write_text(TINY)
    (tmp_path / "b.csv").write_text("job_id,tenant,num_gpu,submit_time,duration\n0,t,1,0,5\n")
    says = f"{tmp_path / 'b.csv'}, line 1: in a folder each file is one tenant"
    assert refused(tmp_path, time_unit="s").startswith(says)
    (tmp_path / "a.trace").write_text(GAVEL7)
    assert "could be tiresias-csv or gavel" in refused(tmp_path)
    (tmp_path / "cluster_log.csv").write_text(HELIOS)
    assert f"{tmp_path / 'cluster_gpu_number.csv'}: no such file, which gives the sizes" in refused(
        tmp_path, format="helios"
    )
