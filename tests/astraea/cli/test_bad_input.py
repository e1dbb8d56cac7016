"""Bad input to `astraea simulate`: one sentence with place and value, exit code 2, nothing half written."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import RUN, S, clean, refused, write_files


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one good trace and many bad ones."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


SIMULATE: dict[str, tuple[list[str], list[str]]] = {
    "bad row": (["row.csv", *S, *RUN], ["row.csv, line 3: num_gpu must be a whole number of GPUs from 0", 'got "2x"']),
    "missing file": (["none.csv", *S, *RUN], ["none.csv: there is no such file or folder"]),
    "only gangs that are too large": (["huge.csv", *S, *RUN], ["no job fits a cluster of 8 GPUs"]),
    "tenant without a share": (
        ["good.csv", *S, *RUN, "--weights", "shares.csv"],
        ["good.csv, line 4", "'b' has no weight", "named: a"],
    ),
    "shares of a synthetic trace": (["venus", *RUN, "--weights", "shares.csv"], ["venus", "weights"]),
    "0 nodes": (["good.csv", *S, "--nodes", "0"], ["nodes must be a whole number from 1 to 1000000, got 0"]),
    "no nodes": (["good.csv", *S], ["--nodes"]),
    "0 GPUs per node": (["good.csv", *S, "--nodes", "1", "--gpus-per-node", "0"], ["gpus_per_node must be", "got 0"]),
    "unknown policy": (
        ["good.csv", *S, *RUN, "--policy", "lottery"],
        ["policy must be one of astraea", "got 'lottery'"],
    ),
    "unknown parameter": (["good.csv", *S, *RUN, "--param", "lease=9"], ["unknown parameter 'lease'", "lease_term"]),
    "parameter without a value": (["good.csv", *S, *RUN, "--param", "interval"], ["expected NAME=VALUE", "'interval'"]),
    "NaN as parameter": (["good.csv", *S, *RUN, "--param", "lease_term=nan"], ["expected a number", "'nan'"]),
    "no such estimator": (
        ["good.csv", *S, *RUN, "--policy", "themis", "--param", "estimator=crystal-ball"],
        ["estimator must be one of oracle, noisy, history, gradient-boosting, constant, got 'crystal-ball'"],
    ),
    "parameter twice": (
        ["good.csv", *S, *RUN, "--param", "lease_term=60", "--param", "lease_term=70"],
        ["--param lease_term: given twice"],
    ),
    "two values": (["good.csv", *S, *RUN, "--param", "lease_term=60,70"], ["lease_term: one value is expected"]),
    "lease shorter than the interval": (
        ["good.csv", *S, *RUN, "--param", "lease_term=5"],
        ["lease_term must be at least the scheduling interval of 10 s, got 5"],
    ),
    "unknown word": (
        ["good.csv", *S, *RUN, "--policy", "astraea-released", "--param", "job_order=lifo"],
        ["policy astraea-released: job_order must be fairness or 2das or themis or fifo, got 'lifo'"],
    ),
    "word where true or false is expected": (
        ["good.csv", *S, *RUN, "--policy", "astraea-released", "--param", "list_removal_flaw=maybe"],
        ["list_removal_flaw must be true or false, got 'maybe'"],
    ),
    "lease shorter than the overheads": (
        ["good.csv", *S, *RUN, "--param", "lease_term=20"],
        ["lease_term must be longer than checkpoint and restart together (25 s)", "got 20"],
    ),
    "unknown placement": (
        ["good.csv", *S, *RUN, "--param", "placement=best"],
        ["placement must be one of consolidated, strict", "'best'"],
    ),
    "unit not known": (["good.csv", *RUN], ["good.csv: the columns do not tell the unit", "ms, s, min"]),
    "format of a synthetic trace": (["venus", "--format", "gavel", *RUN], ["venus", "format"]),
    "not downloaded": (["helios-earth", *RUN], ["helios-earth: not downloaded yet; run: astraea data fetch helios"]),
    "text as seed": (["good.csv", *S, *RUN, "--seed", "x"], ["'--seed': expected a whole number", "'x'"]),
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
