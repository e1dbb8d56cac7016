"""Grids of runs and their cache: same results in any way of computing them, nothing lost, nothing stale."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest

from astraea import run as run_module
from astraea import run_cache
from astraea.cluster import Cluster
from astraea.errors import InputError, PolicyError
from astraea.experiments import Run, grid, grid_table, run_grid
from astraea.metrics import summary
from astraea.parallel import streamed
from astraea.policies import get_policy
from astraea.policies.base import all_candidates, fits, grant, policy
from astraea.result import Result
from astraea.result_files import load_result, pack, save_result, unpack
from astraea.simulate import Settings, simulate
from astraea.trace import Trace

FOUR = Cluster(2, 2)


def tiny(name: str = "tiny", last: float = 100.0) -> Trace:
    """Twelve jobs of two tenants that compete for four GPUs, and one that fits nowhere."""
    demand = [1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 1, 9]
    return Trace.from_frame(
        pd.DataFrame(
            {
                "job_id": [f"j{i:02}" for i in range(13)],
                "tenant": ["a", "b"] * 6 + ["a"],
                "demand": demand,
                "submit_time": [30.0 * i for i in range(13)],
                "duration": [400.0 + 70 * i for i in range(12)] + [last],
            }
        ),
        name=name,
    )


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return grid([tiny()], [FOUR], ["astraea", "tiresias-l", "fifo"], {"lease_term": [100, 300]})


def same(a: Result, b: Result) -> None:
    """Equal to the last bit, types included; `seconds` apart."""
    for name in ("jobs", "set_aside", "timeline", "grants", "placements"):
        x, y = getattr(a, name), getattr(b, name)
        if x is None or y is None:
            assert x is y
        else:
            pd.testing.assert_frame_equal(x, y, check_exact=True, check_index_type=True, check_column_type=True)
    assert a.provenance == b.provenance
    assert list(a.provenance) == list(b.provenance)
    assert [type(v) for v in a.provenance.values()] == [type(v) for v in b.provenance.values()]


def content(folder: Path) -> dict[str, dict[str, bytes]]:
    """Members of all cached files but the measured seconds."""
    files: dict[str, dict[str, bytes]] = {}
    for path in sorted(folder.iterdir()):
        with zipfile.ZipFile(path) as archive:
            files[path.name] = {n: archive.read(n) for n in archive.namelist() if n != "seconds.json"}
    return files


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nothing may be simulated in this process."""

    def never(*_: Any, **__: Any) -> Result:
        raise AssertionError("simulated")

    monkeypatch.setattr(run_cache, "simulate", never)


def test_results_come_in_the_order_of_the_runs(runs: list[Run], tmp_path: Path) -> None:
    results = run_grid([*reversed(runs)], jobs=1, cache=tmp_path, progress=False)
    for run, result in zip(reversed(runs), results, strict=True):
        same(result, simulate(run.trace, run.cluster, run.policy, run.seed, settings=run.settings))


def test_equal_runs_are_computed_once(runs: list[Run], tmp_path: Path) -> None:
    again = Run(tiny(), FOUR, get_policy(runs[0].policy.name)(**runs[0].policy.parameters))
    first, second, third = run_grid([runs[0], runs[1], again], jobs=1, cache=tmp_path, progress=False)
    assert first is third
    assert first is not second
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("keep_log", [False, True])
@pytest.mark.parametrize("gpus", [4, 32])
def test_a_result_survives_its_file_exactly(keep_log: bool, gpus: int, tmp_path: Path) -> None:
    result = simulate(tiny(), Cluster(1, gpus), "tiresias-l", settings=Settings(interval=5), keep_log=keep_log)
    assert (len(result.set_aside) > 0) == (gpus == 4)
    save_result(result, tmp_path / "r.zip")
    read = load_result(tmp_path / "r.zip")
    same(read, result)
    assert read.seconds == result.seconds
    assert (read.grants is not None) == keep_log


def test_processes_give_the_same_bytes_as_one(runs: list[Run], tmp_path: Path) -> None:
    one = run_grid(runs, jobs=1, cache=tmp_path / "one", progress=False)
    two = run_grid(runs, jobs=2, cache=tmp_path / "two", progress=False)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert len(content(tmp_path / "one")) == len(runs)
    for a, b in zip(one, two, strict=True):
        same(a, b)


def test_a_repeated_grid_computes_nothing(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run_grid(runs, jobs=1, cache=tmp_path, progress=False)
    forbid(monkeypatch)
    after = run_grid(runs, jobs=1, cache=tmp_path, progress=False)
    for a, b in zip(before, after, strict=True):
        same(a, b)
        assert a.seconds == b.seconds
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_stderr(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_grid(runs[:1], jobs=1, cache=tmp_path)
    out, err = capsys.readouterr()
    assert "simulating" in err
    assert "1/1" in err
    assert out == ""


def truncated(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flipped(path: Path, _: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def emptied(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def strange(path: Path, _: Path) -> None:
    path.write_text("not an archive")


def of_another_run(path: Path, other: Path) -> None:
    shutil.copy(other, path)


@pytest.mark.parametrize("damage", [truncated, flipped, emptied, strange, of_another_run])
def test_a_damaged_entry_is_noticed_and_computed_again(
    damage: Callable[[Path, Path], None],
    runs: list[Run],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = run_grid(runs[:2], jobs=1, cache=tmp_path, progress=False)
    before = content(tmp_path)
    victim, other = (tmp_path / f"{run.key}.zip" for run in runs[:2])
    damage(victim, other)
    again = run_grid(runs[:2], jobs=1, cache=tmp_path, progress=False)
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert str(victim) in err
    assert "computed again" in err
    assert content(tmp_path) == before
    for a, b in zip(good, again, strict=True):
        same(a, b)
    forbid(monkeypatch)
    run_grid(runs[:2], jobs=1, cache=tmp_path, progress=False)


def test_every_flipped_bit_is_noticed() -> None:
    data = pack(simulate(tiny(), FOUR, "fifo"), "key")
    unpack(data, "key")
    for i in range(0, len(data), 37):
        broken = bytearray(data)
        broken[i] ^= 1 << i % 8
        with pytest.raises(InputError):
            unpack(bytes(broken), "key")


CHANGES: dict[str, dict[str, Any]] = {
    "trace": {"trace": tiny(last=101.0)},
    "name of the trace": {"trace": tiny("other")},
    "nodes": {"cluster": Cluster(3, 2)},
    "shape": {"cluster": Cluster(1, 4)},
    "policy": {"policy": get_policy("fifo")},
    "parameter": {"policy": get_policy("astraea")(idle_guard=0.2)},
    "seed": {"seed": 1},
    "setting": {"settings": Settings(placement="strict")},
    "source of a policy": {"policy": replace(get_policy("astraea"), select=get_policy("fifo").select)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_decides_a_result_is_in_its_key(change: str) -> None:
    base = Run(tiny(), FOUR, get_policy("astraea"))
    assert Run(tiny(), FOUR, get_policy("astraea")).key == base.key
    assert replace(base, **CHANGES[change]).key != base.key


def test_the_simulator_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tiny(), FOUR, get_policy("astraea"))
    before = run.key
    monkeypatch.setattr(run_module, "source_digest", lambda: "another")
    assert run.key != before


HOME_MADE = """
from astraea.jit import compiled
from astraea.policies.base import all_candidates, fits, grant, policy

LIMIT = {limit}

@compiled
def small(s, j):
    return s.job[j].demand {relation} LIMIT

@policy("home-made")
def home_made(s):
    \"\"\"Small jobs only, then all.\"\"\"
    for j in all_candidates(s):
        if small(s, j) and fits(s, j):
            grant(s, j)
"""


def home_made(limit: int = 4, relation: str = "<=") -> Run:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(HOME_MADE.format(limit=limit, relation=relation), scope)
    return Run(tiny(), FOUR, scope["home_made"])


def test_the_text_of_a_home_made_policy_is_in_its_key() -> None:
    keys = {home_made().key, home_made().key, home_made(limit=3).key, home_made(relation="<").key}
    assert len(keys) == 3


@policy("first-fit")
def first_fit(s: Any) -> None:
    """Whoever fits, in order of submission."""
    for j in all_candidates(s):
        if fits(s, j):
            grant(s, j)


@pytest.mark.slow
def test_a_policy_from_outside_the_package_runs_in_workers(tmp_path: Path) -> None:
    todo = [Run(tiny(name), FOUR, first_fit) for name in ("x", "y")]
    for run, result in zip(todo, run_grid(todo, jobs=2, cache=tmp_path, progress=False), strict=True):
        same(result, simulate(run.trace, run.cluster, first_fit))


def test_a_run_that_fails_is_named_and_the_others_are_kept(runs: list[Run], tmp_path: Path) -> None:
    bad = Run(tiny("short"), FOUR, get_policy("astraea")(lease_term=5), seed=3)
    worse = replace(bad, seed=4)
    with pytest.raises(InputError) as caught:
        run_grid([bad, *runs, worse], jobs=2, cache=tmp_path, progress=False)
    sentence = str(caught.value)
    for word in ("short", "astraea", "lease_term=5", "seed 3", "interval", "1 more of 7 runs failed"):
        assert word in sentence
    assert "\n" not in sentence
    assert {p.name for p in tmp_path.iterdir()} == {f"{run.key}.zip" for run in runs}


@pytest.mark.parametrize(("error", "shown"), [(PolicyError("stuck"), "stuck"), (ZeroDivisionError("by\n0"), "by 0")])
def test_other_errors_become_sentences_too(
    error: Exception, shown: str, runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Result:
        raise error

    monkeypatch.setattr(run_cache, "simulate", fail)
    with pytest.raises(PolicyError, match=f"trace tiny, 2 x 2 GPUs, policy astraea .*seed 0: .*{shown}$"):
        run_grid(runs[:1], jobs=1, cache=tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_several_grids_share_a_cache(runs: list[Run], tmp_path: Path) -> None:
    options = {"jobs": 1, "cache": tmp_path, "progress": False}
    both = joblib.Parallel(n_jobs=2)(joblib.delayed(run_grid)(runs, **options) for _ in range(4))
    for results in both[1:]:
        for a, b in zip(both[0], results, strict=True):
            same(a, b)
    assert {p.name for p in tmp_path.iterdir()} == {f"{run.key}.zip" for run in runs}


KILLED = """
import sys
sys.path[:0] = sys.argv[2:]
from test_experiments import FOUR, tiny
from astraea.experiments import grid, run_grid
run_grid(grid([tiny()], [FOUR], ["astraea"], {"lease_term": range(100, 4000)}), jobs=1, cache=sys.argv[1], progress=False)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process")
def test_a_killed_grid_keeps_what_was_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), str(here), str(here.parent)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.zip"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = sorted(tmp_path.glob("*.zip"))
    assert len(kept) >= 3
    for path in kept:
        assert run_cache.read_entry(tmp_path, path.stem) is not None
    assert capsys.readouterr().err == ""


def test_one_thread_per_worker() -> None:
    calls = [("OMP_NUM_THREADS",)] * 3
    assert list(streamed(os.getenv, calls, jobs=2, backend="loky", scheduler=None)) == ["1"] * 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"jobs": 0}, "jobs must be a whole number of at least 1, got 0"),
        ({"jobs": 1.5}, "jobs must be a whole number of at least 1, got 1.5"),
        ({"backend": "threads"}, "backend must be one of loky, dask, got 'threads'"),
        ({"backend": "dask"}, "needs the address of a scheduler"),
        ({"scheduler": "tcp://x:1"}, "only the dask backend takes a scheduler"),
    ],
)
def test_bad_options(options: dict[str, Any], sentence: str, runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        run_grid(runs, **{"cache": tmp_path, "progress": False, **options})


def test_a_cache_that_cannot_be(runs: list[Run], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        run_grid(runs, jobs=1, cache=tmp_path / "file", progress=False)


def test_grid_gives_parameters_to_whom_has_them() -> None:
    points = {"lease_term": [100, 200], "placement": ["strict"]}
    runs = grid([tiny()], [FOUR, Cluster(3, 2)], ["astraea", "fifo"], points, seeds=[0, 1])
    assert len(runs) == 2 * (2 + 1) * 2
    assert {run.settings.placement for run in runs} == {"strict"}
    assert [run.seed for run in runs[:4]] == [0, 1, 0, 1]
    assert [r.policy.parameters.get("lease_term") for r in runs[:6]] == [100, 100, 200, 200, None, None]


@pytest.mark.parametrize(
    ("points", "sentence"), [({"leaseterm": [1]}, "unknown parameter 'leaseterm'"), ({"lease_term": []}, "no value")]
)
def test_grid_refuses_what_nobody_has(points: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        grid([tiny()], [FOUR], ["astraea"], points)


@pytest.mark.parametrize("seed", [1.5, "1", None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(InputError, match="seed must be a whole number"):
        Run(tiny(), FOUR, get_policy("fifo"), seed)


def test_a_table_has_a_row_per_run(runs: list[Run], tmp_path: Path) -> None:
    table = grid_table(runs, jobs=1, cache=tmp_path, progress=False)
    results = run_grid(runs, jobs=1, cache=tmp_path, progress=False)
    assert table["policy"].tolist() == [run.policy.name for run in runs]
    assert table["lease_term"].tolist()[:4] == [100, 300, 100, 300]
    assert table["average_jct"].tolist() == [summary(result)["average_jct"] for result in results]
