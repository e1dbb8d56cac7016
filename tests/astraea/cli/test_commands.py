"""Commands as a user sees them: their output and files, and the program as a process: Ctrl-C, a closed pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from dataclasses import fields
from io import StringIO
from pathlib import Path

import numba
import pandas as pd
import pytest
from places import ROOT
from processes import ASTRAEA, started, wait_until
from tiny_trace import TINY, command

import astraea
from astraea.cli.main import app, main
from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core import compilation
from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import JOB_COLUMNS
from astraea.estimation.estimates import ESTIMATORS
from astraea.experiments.cache import read_entry
from astraea.experiments.lease_term import TERMS
from astraea.traces import named
from astraea.traces.named import FETCHED, NODES
from astraea.traces.readers import FORMATS, TIME_UNITS, read_trace, swf, tiresias_csv
from astraea.traces.sources import RAW, SOURCES
from astraea.traces.synthetic import SYNTHETIC
from astraea.traces.trace import Trace
from astraea_ops.audit.audit import WHAT_IF
from astraea_ops.slurm import files as slurm_files

JOBS = """\
job_id,tenant,demand,submit_time,first_start_time,end_time,duration,jct,queueing_delay,slowdown,attained_service,\
fair_service,rho_job,leases,preemptions,overhead
A,t,1,0.0,0.0,160.0,100.0,160.0,30.0,1.2307692307692308,130.0,117.5,1.1063829787234043,3,1,30.0
B,t,1,5.0,60.0,90.0,30.0,85.0,55.0,2.8333333333333335,30.0,42.5,0.7058823529411765,1,0,0.0
"""
EXCLUDED_JOBS = """\
job_id,tenant,demand,duration,reason,line,detail
C,,,,asks for 0 GPUs,4,
D,t,2,30.0,demand exceeds the cluster (1 GPUs),,
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.csv"
    path.write_text(TINY)
    return path


def test_simulate_writes_what_one_finds_by_hand(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tiny.parent / "deep" / "out"
    assert main(command(tiny, "--param", "lease_term=60", "--format", "tiresias-csv", "--out", str(out))) == 0
    assert (out / "jobs.csv").read_text() == JOBS
    assert (out / "excluded_jobs.csv").read_text() == EXCLUDED_JOBS
    assert (out / "tenants.csv").read_text() == (
        "window_start,window_end,tenant,attained_service,fair_service,rho_tenant\n"
    )
    about = json.loads((out / "provenance.json").read_text())
    assert about["parameters"]["lease_term"] == 60
    assert (about["policy"], about["nodes"], about["seed"]) == ("astraea", 1, 0)
    assert sorted(p.name for p in out.iterdir()) == ["excluded_jobs.csv", "jobs.csv", "provenance.json", "tenants.csv"]
    printed, err = capsys.readouterr()
    assert err == ""
    rows = [line.split() for line in printed.splitlines()]
    assert ["jobs", "2"] in rows
    assert ["excluded", "2"] in rows
    assert ["asks", "for", "0", "GPUs", "1"] in rows
    assert ["average", "JCT", "[s]", "122.50"] in rows
    assert ["median", "JCT", "[s]", "122.50"] in rows
    assert ["jobs", "with", "sharing", "loss", "[%]", "50.00"] in rows
    assert ["tenant-days", "with", "sharing", "loss", "[%]", "-"] in rows
    assert ["utilization", "[%]", "100.00"] in rows
    assert any(row[:2] == ["simulated", "in"] for row in rows)


def test_the_same_command_writes_the_same_bytes_over_the_old(tiny: Path) -> None:
    out = tiny.parent / "out"
    argv = command(tiny, "--out", str(out))
    assert main(argv) == 0
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    (out / "jobs.csv").write_text("old")
    (out / "mine.txt").write_text("stays")
    assert main(argv) == 0
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before | {"mine.txt": b"stays"}


def test_tables_hold_the_exact_numbers_of_a_synthetic_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{i},{'abc'[i % 3]},{1 + i % 4},{i * 700.1},{300 + i * 37.7}\n" for i in range(300)]
    path.write_text("job_id,user,num_gpu,submit_time,duration\n" + "".join(rows))
    argv = ["simulate", str(path), "--time-unit", "s", "--nodes", "3", "--gpus-per-node", "4", "--json"]
    assert main([*argv, "--policy", "tiresias-l", "--param", "restart_overhead=7", "--out", str(tmp_path / "o")]) == 0
    trace = read_trace(path, time_unit="s")
    settings = Settings(restart_overhead=7.0)
    result = simulate(trace, Cluster(3, 4), get_policy("tiresias-l"), settings=settings)
    jobs = pd.read_csv(tmp_path / "o" / "jobs.csv", dtype={"job_id": object})
    windows = pd.read_csv(tmp_path / "o" / "tenants.csv")
    for read, table in ((jobs, result.jobs[list(JOB_COLUMNS)]), (windows, tenant_windows(result))):
        assert len(read) > 100
        pd.testing.assert_frame_equal(read, table.astype(read.dtypes.to_dict()), check_exact=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["trace"] == "t"
    assert printed["excluded_reasons"] == {}
    assert printed["seconds"] > 0
    assert {k: printed[k] for k in summary(result)} == summary(result)


def test_json_is_valid_also_where_a_figure_is_undefined(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tiny, "--json")) == 0
    figures = json.loads(capsys.readouterr().out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert figures["tenant_sharing_loss"] is None
    assert figures["excluded_reasons"] == {"asks for 0 GPUs": 1, "demand exceeds the cluster (1 GPUs)": 1}
    assert figures["excluded_by_reader"] == 1


def test_sweep_makes_a_tidy_table(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, cache = tiny.parent / "grid.csv", tiny.parent / "cache"
    argv = ["sweep", str(tiny), "--time-unit", "s", "--gpus-per-node", "1", "--cache", str(cache), "--jobs", "1"]
    argv += ["--policies", "astraea,fifo", "--param", "lease_term=60,100", "--nodes", "1,2"]
    assert main([*argv, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == f"6 runs in {out}\n" and said.err.endswith("\n") and "6 of 6 runs, 100 %" in said.err
    table = pd.read_csv(out)
    assert table[["nodes", "policy", "lease_term"]].fillna(0).to_numpy().tolist() == [
        [n, *rest] for n in (1, 2) for rest in (["astraea", 60], ["astraea", 100], ["fifo", 0])
    ]
    assert table["average_jct"][0] == 122.5
    assert main(argv) == 0
    assert capsys.readouterr() == (out.read_text(), "")


def test_sweep_over_seeds(tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def synthesize(name: str, seed: int) -> Trace:
        return read_trace(tiny, time_unit="s", name=f"{name}{seed}")

    monkeypatch.setattr(named, "synthesize", synthesize)
    argv = ["sweep", "venus", "--nodes", "1", "--seeds", "3", "--cache", str(tiny.parent / "c"), "--jobs", "1"]
    assert main(argv) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["venus0", "venus1", "venus2"]
    assert main(command(tiny, "--seeds", "2", "--cache", str(tiny.parent / "c"), "--jobs", "1", name="sweep")) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert "only random placement differs" in err


def test_a_named_workload_has_nodes_of_its_own(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "synthesize", lambda name, seed: read_trace(tiny, time_unit="s", name=name))
    for name, nodes in (("venus", 100), ("philly", 210)):
        assert main(["simulate", name, "--policy", "fifo"]) == 0
        assert capsys.readouterr().out.startswith(f"{name} on {nodes} x 8 GPUs under fifo\n")
    more = ["--cache", str(tiny.parent / "c"), "--jobs", "1"]
    assert main(["sweep", "venus", "--policies", "fifo", *more]) == 0
    assert pd.read_csv(StringIO(capsys.readouterr().out))["nodes"].tolist() == [100]
    assert main(["simulate", "venus", "--gpus-per-node", "4"]) == 2
    assert capsys.readouterr().err == "astraea: Missing option '--nodes' (see: astraea simulate --help)\n"
    monkeypatch.chdir(tiny.parent)
    tiny.rename("w2")  # a path, not the workload of this name
    assert main(["simulate", "w2", "--time-unit", "s"]) == 2
    assert "Missing option '--nodes'" in capsys.readouterr().err


def test_lease_term_recommends(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = command(tiny, "--terms", "60,900", "--cache", str(tiny.parent / "c"), "--jobs", "1", name="lease-term")
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    # with one lease of 900 s A ends at 100 and B at 130: (100 + 125) / 2
    assert [line.split()[:2] for line in lines[1:3]] == [["60", "122.5"], ["900", "112.5"]]
    assert lines[-1].startswith("15 min is the shortest lease term whose average JCT")
    assert lines[-2] == "a checkpoint takes 5 s, a restart 20 s, not measured (see --overheads)"


def test_lease_term_with_measured_overheads(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = tiny.parent / "measured.json"
    argv = command(tiny, "--cache", str(tiny.parent / "c"), "--jobs", "1", name="lease-term")
    argv += ["--overheads", str(measured)]
    measured.write_text('{"checkpoint_overhead": 0, "restart_overhead": 0, "device": "CPU"}')
    assert main([*argv, "--terms", "60"]) == 0
    # A runs for 60 s, B to its end at 90, A to its end at 130: (130 + 85) / 2, and 15 s for each that were paid before
    _, row, _, used, _ = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["60", "107.5", "0.00"]
    assert used == f"a checkpoint takes 0 s, a restart 0 s, from {measured}"
    # terms in which no job gets on are left out
    measured.write_text('{"checkpoint_overhead": 10.5, "restart_overhead": 589.5}')
    assert main(argv) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "900"


def test_who_waits_for_the_compiler_is_told_once_and_only_if_it_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    function = numba.njit(lambda x: x)
    for argument in (1, 1.0):
        with compilation.announced("the simulator"):
            function(argument)
        assert capsys.readouterr().err == "compiling the simulator: about a minute, only once\n"
        with compilation.announced("the simulator"):
            function(argument)
        assert capsys.readouterr().err == ""
    monkeypatch.setattr(compilation, "is_silent", True)
    with compilation.announced("the simulator"):
        function("x")
    assert capsys.readouterr().err == ""


def test_kept_results_are_shown_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    (tmp_path / "a.zip").write_bytes(bytes(200_000))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: 1 result, 0.2 MB\n"
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: removed 1 result\n"
    assert not any(tmp_path.iterdir())



def test_describe_prints_what_was_read(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", str(tiny), "--time-unit", "s"]) == 0
    assert "tiny: 3 jobs of 1 tenants" in capsys.readouterr().out


def test_policies_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    text = capsys.readouterr().out
    assert main(["policies", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed["policies"]) == list(all_policies())
    for name, policy in all_policies().items():
        assert f"{name}: {policy.about}" in text
        assert re.search(rf"^{name} +{re.escape(policy.paper)} +{'yes' if policy.preempts else 'no'} ", text, re.M)
        assert listed["policies"][name]["sees_tenants"] == policy.sees_tenants
        about = listed["policies"][name]["parameters"]
        assert {k: v["default"] for k, v in about.items()} == policy.as_text
        assert all(v["meaning"] for v in about.values())
    assert set(listed["settings"]) == {f.name for f in fields(Settings)}
    assert "restart_overhead" in text


def test_data_lists_and_fetches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["data", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SOURCES)
    fetched: list[str] = []

    def fetch(name: str, folder: Path) -> Path:
        fetched.append(name)
        return folder / name

    monkeypatch.setattr("astraea.traces.download.fetch", fetch)
    assert main(["data", "fetch", "helios", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'helios'}\n"
    assert main(["data", "fetch"]) == 0
    assert fetched == ["helios", *(name for name, s in SOURCES.items() if not (s.size or s.untried))]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"astraea {astraea.__version__}\n"
    for argv in ([], *([name] for name in app.commands), ["data", "fetch"], ["data", "list"]):
        assert main([*argv, "--help"]) == 0
        assert "Usage: astraea" in capsys.readouterr().out


def test_help_names_what_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    formats = [*FORMATS, *TIME_UNITS, *slurm_files.TENANTS, *swf.TENANTS, *tiresias_csv.NAMES]
    named = {
        ("simulate",): [*SYNTHETIC, *FETCHED, *formats, *NODES, *ESTIMATORS],
        ("audit",): [*SYNTHETIC, *FETCHED, *formats, *WHAT_IF],
        ("lease-term",): [f"{TERMS[0]} to {TERMS[-1]}"],
        ("data", "fetch"): [str(RAW)],
    }
    for argv, words in named.items():
        assert main([*argv, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # a name may be broken at its hyphen
        assert [word for word in words if word not in shown] == []


def all_are_ready(process: subprocess.Popen[str], cache: Path) -> bool:
    """True if something is computed and no worker is just starting; Ctrl-C ends a starting one with a traceback."""
    states = []
    with suppress(OSError):  # Linux alone tells them
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        states = [Path(f"/proc/{child}/status").read_text() for child in children]
    ignored = [int(line.split()[1], 16) for text in states for line in text.splitlines() if line.startswith("SigIgn")]
    return len(list(cache.glob("*.zip"))) >= 5 and all(bits >> signal.SIGINT - 1 & 1 for bits in ignored)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C reaches a group of processes only on POSIX systems")
def test_a_real_interrupt_ends_in_one_sentence(tiny: Path) -> None:
    cache, out = tiny.parent / "cache", tiny.parent / "grid.csv"
    terms = ",".join(map(str, range(60, 30_000, 100)))
    argv = command(tiny, "--param", f"lease_term={terms}", "--jobs", "2", name="sweep")
    argv += ["--cache", str(cache), "--out", str(out)]
    env = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    with started(*ASTRAEA, *argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: all_are_ready(process, cache), process)
        os.killpg(process.pid, signal.SIGINT)
        printed, err = process.communicate()
    # joblib's own tracker may say, after us, that it cleaned up a semaphore of a worker that was just being started
    others = ("resource_tracker", "warnings.warn", "simulating: ")
    said = [line for line in err.splitlines() if not any(other in line for other in others)]
    assert (process.returncode, printed, said) == (130, "", ["astraea: interrupted; no file was left half-written"])
    assert not out.exists()
    kept = list(cache.iterdir())
    assert len(kept) >= 5
    assert all(path.suffix == ".zip" and read_entry(cache, path.stem) is not None for path in kept)
