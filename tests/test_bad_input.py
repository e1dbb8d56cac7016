"""Bad input from the shell: one sentence with place and value, exit code 2, no traceback, nothing half written."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from astraea import run_cache
from astraea.cli import main
from astraea.errors import PolicyError

HEADER = "job_id,user,num_gpu,submit_time,duration\n"
GOOD = HEADER + "1,a,1,0,100\n2,a,2,5,200\n3,b,1,9,50\n"
HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,u,vcA,1,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 02:00:00,2020-04-01 01:00:00,60,0\n"
)
PHILLY = [
    {
        "jobid": "app_1", "vc": "v", "user": "u", "status": "Pass", "submitted_time": "2017-10-03 00:00:00",
        "attempts": [
            {
                "start_time": "2017-10-03 02:00:00", "end_time": "2017-10-03 01:00:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
            }
        ],
    }
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one good trace and many bad ones."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "good.csv": GOOD,
        "empty.csv": "",
        "blank.csv": " \n\n",
        "header.csv": HEADER,
        "column.csv": GOOD.replace("num_gpu", "gpus"),
        "twice.csv": GOOD.replace("user", "duration"),
        "zero.csv": HEADER + "1,a,0,0,100\n",
        "huge.csv": HEADER + "1,a,1,0,100\n".replace(",1,", ",64,"),
        "shares.csv": "name,share\na,1\n",
        "negative-share.csv": "name,share\na,1\nb,-2\n",
        "text-share.csv": "name,share\na,1\nb,much\n",
        "nan-share.csv": "name,share\na,1\nb,nan\n",
        "double-share.csv": "name,share\na,1\nb,2\na,3\n",
        "wide-share.csv": "name,share,x\na,1,1\nb,2,1\n",
        "cluster_log.csv": HELIOS,
        "cluster_gpu_number.csv": "date,vcA,total\n2020-04-01,8,8\n",
        "cluster_job_log": json.dumps(PHILLY),
        "list.json": "[{]",
        "file": "x",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:-9])
    (tmp_path / "binary.csv").write_bytes(b"job_id\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    for old, new in ROWS:
        (tmp_path / row_file(new)).write_text(GOOD.replace(old, new))
    return tmp_path


def row_file(new: str) -> str:
    """Name of the file whose third line is this one."""
    return f"row-{ROWS.index(('2,a,2,5,200', new))}.csv"


def refused(argv: list[str], capsys: pytest.CaptureFixture[str], *says: str, code: int = 2) -> str:
    """Run a command that must fail with one sentence that says this."""
    assert main(argv) == code
    out, err = capsys.readouterr()
    assert err.startswith("astraea: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert out == ""
    for words in says:
        assert words in err, err
    return err


def clean(folder: Path) -> None:
    """Nothing new stands there, not even something hidden."""
    assert not (folder / "out").exists()
    assert not list(folder.glob(".astraea-*"))
    assert not list(folder.rglob(".in-flight-*"))


#: what replaces the second job, and what the message must say
BAD_ROWS = {
    "2,a,2x,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got "2x"',
    "2,a,-2,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got "-2"',
    "2,a,2.5,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got "2.5"',
    "2,a,9999999,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got "9999999"',
    "2,a,nan,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got "nan"',
    "2,a,,5,200": 'line 3: num_gpu must be a whole number of GPUs from 0 to 1000000, got ""',
    "2,a,2,-5,200": 'line 3: submit_time must be a time of at least 0 and at most 1e+10 s, got "-5"',
    "2,a,2,noon,200": 'line 3: submit_time must be a time of at least 0 and at most 1e+10 s, got "noon"',
    "2,a,2,5,-200": 'line 3: duration must be a time of at least 0 and at most 1e+10 s, got "-200"',
    "2,a,2,5,1e30": 'line 3: duration must be a time of at least 0 and at most 1e+10 s, got "1e30"',
    "2,a,2,5,inf": 'line 3: duration must be a time of at least 0 and at most 1e+10 s, got "inf"',
    "2,a,2,5,NaN": 'line 3: duration must be a time of at least 0 and at most 1e+10 s, got "NaN"',
    "1,a,2,5,200": 'line 3: job_id must be unique, got "1"',
    ",a,2,5,200": 'line 3: job_id must be a name, got ""',
    "2,,2,5,200": 'line 3: user must be a name, got ""',
    "2,a,2,5": "line 3: expected 5 columns, got 4",
    "2,a,2,5,200,1": "line 3: expected 5 columns, got 6",
    '2,a,2,5,"200': "line 3: not a table",
}
ROWS = [("2,a,2,5,200", new) for new in BAD_ROWS]


@pytest.mark.parametrize("new", BAD_ROWS)
def test_a_bad_row(new: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["simulate", row_file(new), "--time-unit", "s", "--nodes", "1", "--out", "out"]
    refused(argv, capsys, f"{row_file(new)}, {BAD_ROWS[new]}")
    clean(here)


RUN = ["--nodes", "1", "--gpus-per-node", "8"]
S = ["--time-unit", "s"]

SIMULATE: dict[str, tuple[list[str], list[str]]] = {
    "missing file": (["none.csv", *S, *RUN], ["none.csv: there is no such file or folder"]),
    "empty file": (["empty.csv", *S, *RUN], ["empty.csv", "the file is empty"]),
    "blank file": (["blank.csv", *S, *RUN], ["blank.csv", "the file is empty"]),
    "only a header": (["header.csv", *S, *RUN], ["header.csv", "there is no job in it"]),
    "wrong column": (
        ["column.csv", "--format", "tiresias-csv", *S, *RUN],
        ["column.csv, line 1: column 'num_gpu' is missing", "found job_id, user, gpus"],
    ),
    "column twice": (["twice.csv", *S, *RUN], ["twice.csv, line 1: column 'duration' is there twice"]),
    "unknown form": (["file", *RUN], ["file: the format is none that is recognised"]),
    "not text": (["binary.csv", *S, *RUN], ["binary.csv: not a text file"]),
    "damaged gzip": (["packed.csv.gz", *S, *RUN], ["packed.csv.gz: the gzip file is damaged"]),
    "empty folder": (["folder", *RUN], ["folder"]),
    "only jobs without GPUs": (["zero.csv", *S, *RUN], ["zero.csv", "0 GPUs"]),
    "only gangs that are too large": (["huge.csv", *S, *RUN], ["no job fits a cluster of 8 GPUs"]),
    "Helios job ends before it starts": (
        [".", "--format", "helios", *RUN],
        ["cluster_log.csv, line 2: end_time must be no earlier than start_time, got \"2020-04-01 01:00:00\""],
    ),
    "Philly job ends before it starts": (
        ["cluster_job_log", "--format", "philly", *RUN],
        ['cluster_job_log, job 1 ("app_1"): end_time must be no earlier than start_time'],
    ),
    "not JSON": (["list.json", "--format", "philly", *RUN], ["list.json, line 1: not JSON"]),
    "tenant without a share": (
        ["good.csv", *S, *RUN, "--weights", "shares.csv"],
        ["good.csv, line 4", "'b'", "shares.csv"],
    ),
    "negative share": (["good.csv", *S, *RUN, "--weights", "negative-share.csv"], ["line 3: share must be", '"-2"']),
    "text as share": (["good.csv", *S, *RUN, "--weights", "text-share.csv"], ["line 3: share must be", '"much"']),
    "NaN as share": (["good.csv", *S, *RUN, "--weights", "nan-share.csv"], ["line 3: share must be", '"nan"']),
    "tenant twice": (["good.csv", *S, *RUN, "--weights", "double-share.csv"], ["line 4: name must be unique", "'a'"]),
    "wide share file": (["good.csv", *S, *RUN, "--weights", "wide-share.csv"], ["line 1: a share file has two columns"]),
    "missing share file": (["good.csv", *S, *RUN, "--weights", "no.csv"], ["no.csv: there is no such file"]),
    "shares of a synthetic trace": (["venus", *RUN, "--weights", "shares.csv"], ["venus", "weights"]),
    "0 nodes": (["good.csv", *S, "--nodes", "0"], ["nodes must be a whole number from 1 to 1000000, got 0"]),
    "huge number of nodes": (["good.csv", *S, "--nodes", "9999999"], ["nodes must be", "got 9999999"]),
    "negative nodes": (["good.csv", *S, "--nodes", "-3"], ["--nodes"]),
    "text as nodes": (["good.csv", *S, "--nodes", "many"], ["argument --nodes: expected a whole number", "'many'"]),
    "fraction of a node": (["good.csv", *S, "--nodes", "1.5"], ["argument --nodes: expected a whole number", "'1.5'"]),
    "no nodes": (["good.csv", *S], ["--nodes"]),
    "0 GPUs per node": (["good.csv", *S, "--nodes", "1", "--gpus-per-node", "0"], ["gpus_per_node must be", "got 0"]),
    "unknown policy": (["good.csv", *S, *RUN, "--policy", "lottery"], ["unknown policy 'lottery'", "astraea, tiresias-l"]),
    "unknown parameter": (["good.csv", *S, *RUN, "--param", "lease=9"], ["unknown parameter 'lease'", "lease_term"]),
    "parameter of another policy": (
        ["good.csv", *S, *RUN, "--policy", "fifo", "--param", "lease_term=9"],
        ["unknown parameter 'lease_term'", "fifo"],
    ),
    "parameter without a value": (["good.csv", *S, *RUN, "--param", "lease_term"], ["expected NAME=VALUE", "'lease_term'"]),
    "text as parameter": (["good.csv", *S, *RUN, "--param", "lease_term=long"], ["lease_term must be a number", "'long'"]),
    "negative parameter": (["good.csv", *S, *RUN, "--param", "lease_term=-5"], ["lease_term must be a number", "-5"]),
    "NaN as parameter": (["good.csv", *S, *RUN, "--param", "lease_term=nan"], ["expected a number", "'nan'"]),
    "infinite parameter": (["good.csv", *S, *RUN, "--param", "lease_term=inf"], ["lease_term must be a number", "inf"]),
    "parameter twice": (
        ["good.csv", *S, *RUN, "--param", "lease_term=60", "--param", "lease_term=70"],
        ["--param lease_term: given twice"],
    ),
    "two values": (["good.csv", *S, *RUN, "--param", "lease_term=60,70"], ["--param lease_term: one value is expected"]),
    "lease shorter than the interval": (
        ["good.csv", *S, *RUN, "--param", "lease_term=5"],
        ["lease_term must be at least the scheduling interval of 10 s, got 5"],
    ),
    "lease shorter than the overheads": (
        ["good.csv", *S, *RUN, "--param", "lease_term=20"],
        ["lease_term must be longer than checkpoint and restart together (25 s)", "got 20"],
    ),
    "interval of 0": (["good.csv", *S, *RUN, "--param", "interval=0"], ["interval must be above 0 s"]),
    "text as interval": (["good.csv", *S, *RUN, "--param", "interval=short"], ["interval must be a time", "'short'"]),
    "unknown placement": (
        ["good.csv", *S, *RUN, "--param", "placement=best"],
        ["placement must be one of consolidated, strict", "'best'"],
    ),
    "number as placement": (["good.csv", *S, *RUN, "--param", "placement=1"], ["placement must be one of", "1"]),
    "unknown format": (["good.csv", "--format", "excel", *RUN], ["argument --format", "'excel'"]),
    "unknown unit": (["good.csv", "--time-unit", "h", *RUN], ["argument --time-unit", "'h'"]),
    "unit not known": (["good.csv", *RUN], ["good.csv: the columns do not tell the unit", "ms, s, min"]),
    "unit of a format that has one": ([".", "--format", "helios", *S, *RUN], ["the format helios has a unit of its own"]),
    "format of a synthetic trace": (["venus", "--format", "gavel", *RUN], ["venus", "format"]),
    "not downloaded": (["philly-vcs", *RUN], ["philly-vcs: not downloaded yet; run: astraea data fetch philly-vcs"]),
    "negative seed": (["good.csv", *S, *RUN, "--seed", "-1"], ["--seed"]),
    "text as seed": (["good.csv", *S, *RUN, "--seed", "x"], ["argument --seed: expected a whole number", "'x'"]),
    "seed too large": (["good.csv", *S, *RUN, "--seed", "9" * 30], ["argument --seed"]),
    "unknown option": (["good.csv", *S, *RUN, "--fast"], ["unrecognized arguments: --fast"]),
    "shortened option": (["good.csv", *S, "--node", "1"], ["--node"]),
    "out is a file": (["good.csv", *S, *RUN, "--out", "file"], ["file: it is not a folder"]),
    "out is below a file": (["good.csv", *S, *RUN, "--out", "file/out"], ["file/out", "file is not a folder"]),
}


@pytest.mark.parametrize("case", SIMULATE)
def test_simulate(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv, says = SIMULATE[case]
    out = [] if "--out" in argv else ["--out", "out"]
    refused(["simulate", *argv, *out], capsys, *says)
    clean(here)
    assert (here / "file").read_text() == "x"


CELL = ["good.csv", *S, "--nodes", "1", "--cache", "cache"]
OTHERS: dict[str, tuple[list[str], list[str]]] = {
    "no command": ([], ["required: COMMAND"]),
    "unknown command": (["simulat"], ["invalid choice: 'simulat'"]),
    "sweep, no seeds": (["sweep", *CELL, "--seeds", "0"], ["--seeds must be at least 1, got 0"]),
    "sweep, no jobs": (["sweep", *CELL, "--jobs", "0"], ["jobs must be a whole number of at least 1, got 0"]),
    "sweep, nodes": (["sweep", *CELL[:3], "--nodes", "1,,2"], ["argument --nodes: expected a whole number", "''"]),
    "sweep, policy": (["sweep", *CELL, "--policies", "fifo,lotto"], ["unknown policy 'lotto'"]),
    "sweep, parameter": (["sweep", *CELL, "--param", "x=1"], ["unknown parameter 'x'"]),
    "sweep, empty parameter": (["sweep", *CELL, "--param", "lease_term="], ["expected NAME=VALUE", "'lease_term='"]),
    "sweep, lease": (
        ["sweep", *CELL, "--param", "lease_term=5", "--jobs", "1"],
        ["trace good, 1 x 8 GPUs, policy astraea (lease_term=5", "seed 0", "scheduling interval"],
    ),
    "sweep, backend": (["sweep", *CELL, "--backend", "ray"], ["argument --backend", "'ray'"]),
    "sweep, no scheduler": (["sweep", *CELL, "--backend", "dask"], ["needs the address of a scheduler"]),
    "sweep, scheduler": (["sweep", *CELL, "--scheduler", "x"], ["only the dask backend takes a scheduler"]),
    "sweep, out": (["sweep", *CELL, "--out", "none/grid.csv"], ["none/grid.csv: --out must be a file"]),
    "sweep, out is a folder": (["sweep", *CELL, "--out", "folder"], ["folder: --out must be a file"]),
    "sweep, cache": (["sweep", *CELL[:-1], "file", "--jobs", "1"], ["file"]),
    "lease-term, policy": (["lease-term", *CELL, "--policy", "fifo"], ["policy fifo does not preempt"]),
    "lease-term, terms": (["lease-term", *CELL, "--terms", "60,soon"], ["argument --terms", "'soon'"]),
    "lease-term, parameter": (["lease-term", *CELL, "--param", "lease_term=60"], ["with --terms"]),
    "describe": (["describe", "none.csv"], ["none.csv: there is no such file or folder"]),
    "fetch": (["data", "fetch", "borealis"], ["unknown workload 'borealis'"]),
    "data": (["data"], ["required: fetch|list"]),
    "figures, scale": (["figures", "--scale", "huge"], ["argument --scale", "'huge'"]),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_commands(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv, says = OTHERS[case]
    refused(argv, capsys, *says)
    clean(here)


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def no_permission(*_: Any, **__: Any) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def ctrl_c(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def no_memory(*_: Any, **__: Any) -> None:
    raise MemoryError


def broken(*_: Any, **__: Any) -> None:
    raise PolicyError("policy p, at 10 s: granted job 'x' twice in one round")


GOOD_RUN = ["simulate", "good.csv", *S, *RUN, "--out", "out"]
TROUBLE: dict[str, tuple[str, Callable[..., None], int, str]] = {
    "no disk space for a table": ("pandas.DataFrame.to_csv", full_disk, 2, "out: no space left on the disk"),
    "no disk space for the provenance": ("pathlib.Path.write_text", full_disk, 2, "out: no space left on the disk"),
    "no disk space for a folder": ("tempfile.mkdtemp", full_disk, 2, "out: no space left on the disk"),
    "a folder that is read-only": ("tempfile.mkdtemp", no_permission, 2, "out: cannot be written (Permission denied)"),
    "a trace that cannot be read": ("pathlib.Path.read_bytes", no_permission, 2, "good.csv: cannot be read"),
    "Ctrl-C while reading": ("astraea.workloads.read_trace", ctrl_c, 130, "interrupted"),
    "Ctrl-C while simulating": ("astraea.commands.simulate.simulate", ctrl_c, 130, "interrupted"),
    "Ctrl-C while writing": ("pandas.DataFrame.to_csv", ctrl_c, 130, "interrupted"),
    "no memory": ("astraea.commands.simulate.simulate", no_memory, 2, "not enough memory"),
    "a policy that breaks a rule": ("astraea.commands.simulate.simulate", broken, 2, "granted job 'x' twice"),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_trouble(
    case: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, trouble, code, says = TROUBLE[case]
    import astraea.commands  # noqa: F401  what is to be replaced must be there

    monkeypatch.setattr(place, trouble)
    refused(GOOD_RUN, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)


def test_trouble_leaves_older_results_alone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "out"
    assert main(GOOD_RUN) == 0
    capsys.readouterr()
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    calls: list[int] = []
    to_csv = pd.DataFrame.to_csv

    def second_fails(*args: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            full_disk()
        to_csv(*args, **options)

    monkeypatch.setattr(pd.DataFrame, "to_csv", second_fails)
    refused([*GOOD_RUN, "--param", "lease_term=50"], capsys, "no space left on the disk")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.parametrize(("trouble", "code"), [(full_disk, 2), (no_permission, 2), (ctrl_c, 130)])
def test_trouble_in_a_sweep(
    trouble: Callable[..., None],
    code: int,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    argv = ["sweep", *CELL, "--param", "lease_term=60,70", "--jobs", "1", "--out", "out"]
    monkeypatch.setattr(run_cache.os, "replace", trouble)
    says = "interrupted" if code == 130 else "cannot be written"
    refused(argv, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)
    assert list((here / "cache").iterdir()) == []


def test_what_is_set_aside_is_no_error_and_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mixed.csv").write_text(GOOD + "4,b,0,10,5\n5,b,9,10,5\n6,b,1,10,0\n7,a,5,11,2\n")
    assert main(["simulate", "mixed.csv", *S, *RUN]) == 0
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines()]
    assert ["set", "aside", "4"] in rows
    for reason in (
        "asks for 0 GPUs", "ran for 0 s", "demand exceeds the cluster (8 GPUs)", "demand exceeds the quota of its tenant (4 GPUs)"
    ):  # fmt: skip
        assert [*reason.split(), "1"] in rows
    assert err == ""
