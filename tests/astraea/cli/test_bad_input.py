"""Bad input to `astraea simulate`: one sentence with place and value, exit code 2, nothing half written."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import GOOD, RUN, S, clean, refused, write_files


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one good trace and many bad ones."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


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


@pytest.mark.parametrize("new", BAD_ROWS)
def test_a_bad_row(new: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "row.csv").write_text(GOOD.replace("2,a,2,5,200", new))
    argv = ["simulate", "row.csv", *S, "--nodes", "1", "--out", "out"]
    refused(argv, capsys, f"row.csv, {BAD_ROWS[new]}")
    clean(here)


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
    "only jobs without GPUs": (["zero.csv", *S, *RUN], ["zero", "1 asks for 0 GPUs"]),
    "only gangs that are too large": (["huge.csv", *S, *RUN], ["no job fits a cluster of 8 GPUs"]),
    "Helios job ends before it starts": (
        [".", "--format", "helios", *RUN],
        ['cluster_log.csv, line 2: end_time must be no earlier than start_time, got "2020-04-01 01:00:00"'],
    ),
    "Philly job ends before it starts": (
        ["cluster_job_log", "--format", "philly", *RUN],
        ['cluster_job_log, job 1 ("app_1"): end_time must be no earlier than start_time'],
    ),
    "not JSON": (["list.json", "--format", "philly", *RUN], ["list.json, line 1: not JSON"]),
    "tenant without a share": (
        ["good.csv", *S, *RUN, "--weights", "shares.csv"],
        ["good.csv, line 4", "'b' has no weight", "named: a"],
    ),
    "negative share": (["good.csv", *S, *RUN, "--weights", "negative-share.csv"], ["line 3: share must be", '"-2"']),
    "text as share": (["good.csv", *S, *RUN, "--weights", "text-share.csv"], ["line 3: share must be", '"much"']),
    "NaN as share": (["good.csv", *S, *RUN, "--weights", "nan-share.csv"], ["line 3: share must be", '"nan"']),
    "tenant twice": (["good.csv", *S, *RUN, "--weights", "double-share.csv"], ["line 4: name must be unique", '"a"']),
    "wide share file": (["good.csv", *S, *RUN, "--weights", "wide-share.csv"], ["line 1: a share file has two"]),
    "missing share file": (["good.csv", *S, *RUN, "--weights", "no.csv"], ["no.csv: there is no such file"]),
    "shares of a synthetic trace": (["venus", *RUN, "--weights", "shares.csv"], ["venus", "weights"]),
    "0 nodes": (["good.csv", *S, "--nodes", "0"], ["nodes must be a whole number from 1 to 1000000, got 0"]),
    "huge number of nodes": (["good.csv", *S, "--nodes", "9999999"], ["nodes must be", "got 9999999"]),
    "negative nodes": (["good.csv", *S, "--nodes", "-3"], ["--nodes"]),
    "text as nodes": (["good.csv", *S, "--nodes", "many"], ["'--nodes': expected a whole number", "'many'"]),
    "fraction of a node": (["good.csv", *S, "--nodes", "1.5"], ["'--nodes': expected a whole number", "'1.5'"]),
    "no nodes": (["good.csv", *S], ["--nodes"]),
    "0 GPUs per node": (["good.csv", *S, "--nodes", "1", "--gpus-per-node", "0"], ["gpus_per_node must be", "got 0"]),
    "unknown policy": (
        ["good.csv", *S, *RUN, "--policy", "lottery"],
        ["policy must be one of astraea", "got 'lottery'"],
    ),
    "unknown parameter": (["good.csv", *S, *RUN, "--param", "lease=9"], ["unknown parameter 'lease'", "lease_term"]),
    "parameter of another policy": (
        ["good.csv", *S, *RUN, "--policy", "fifo", "--param", "lease_term=9"],
        ["unknown parameter 'lease_term'", "fifo"],
    ),
    "parameter without a value": (["good.csv", *S, *RUN, "--param", "interval"], ["expected NAME=VALUE", "'interval'"]),
    "text as parameter": (["good.csv", *S, *RUN, "--param", "lease_term=x"], ["lease_term must be a number", "'x'"]),
    "negative parameter": (["good.csv", *S, *RUN, "--param", "lease_term=-5"], ["lease_term must be a number", "-5"]),
    "NaN as parameter": (["good.csv", *S, *RUN, "--param", "lease_term=nan"], ["expected a number", "'nan'"]),
    "unknown word": (
        ["good.csv", *S, *RUN, "--policy", "astraea-released", "--param", "job_order=lifo"],
        ["policy astraea-released: job_order must be fairness or 2das or themis or fifo, got 'lifo'"],
    ),
    "word where true or false is expected": (
        ["good.csv", *S, *RUN, "--policy", "astraea-released", "--param", "list_removal_flaw=maybe"],
        ["list_removal_flaw must be true or false, got 'maybe'"],
    ),
    "f outside its range": (
        ["good.csv", *S, *RUN, "--policy", "themis", "--param", "f=1.2"],
        ["policy themis: f must be a number from 0 to 1, got 1.2"],
    ),
    "learned estimates without history": (
        ["good.csv", *S, *RUN, "--policy", "themis", "--param", "estimator=history"],
        ["history"],
    ),
    "no such estimator": (
        ["good.csv", *S, *RUN, "--policy", "themis", "--param", "estimator=crystal-ball"],
        ["estimator must be one of oracle, noisy, history, gradient-boosting, constant, got 'crystal-ball'"],
    ),
    "infinite parameter": (["good.csv", *S, *RUN, "--param", "lease_term=inf"], ["lease_term must be a number", "inf"]),
    "parameter twice": (
        ["good.csv", *S, *RUN, "--param", "lease_term=60", "--param", "lease_term=70"],
        ["--param lease_term: given twice"],
    ),
    "two values": (["good.csv", *S, *RUN, "--param", "lease_term=60,70"], ["lease_term: one value is expected"]),
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
    "unknown format": (["good.csv", "--format", "excel", *RUN], ["excel"]),
    "unknown unit": (["good.csv", "--time-unit", "h", *RUN], ["h"]),
    "unit not known": (["good.csv", *RUN], ["good.csv: the columns do not tell the unit", "ms, s, min"]),
    "unit of a format that has one": ([".", "--format", "helios", *S, *RUN], ["helios has a unit of its own"]),
    "format of a synthetic trace": (["venus", "--format", "gavel", *RUN], ["venus", "format"]),
    "not downloaded": (["helios-earth", *RUN], ["helios-earth: not downloaded yet; run: astraea data fetch helios"]),
    "negative seed": (["good.csv", *S, *RUN, "--seed", "-1"], ["--seed"]),
    "text as seed": (["good.csv", *S, *RUN, "--seed", "x"], ["'--seed': expected a whole number", "'x'"]),
    "seed too large": (["good.csv", *S, *RUN, "--seed", "9" * 30], ["'--seed'"]),
    "unknown option": (["good.csv", *S, *RUN, "--fast"], ["No such option '--fast'"]),
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
