"""Grids of runs and the cache of their results: exact, never stale, independent of how they are computed."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from places import HELPERS, ROOT
from processes import started, wait_until
from small_runs import FOUR, content, forbid, same, tiny

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core import source
from astraea.core.errors import InputError, PolicyError
from astraea.core.metrics import summary
from astraea.core.result import Result
from astraea.experiments import cache
from astraea.experiments.archive import pack, unpack
from astraea.experiments.grid import grid, grid_table, run_grid
from astraea.experiments.parallel import computing, parallel_stream
from astraea.experiments.run import Call, Run
from astraea.traces.trace import Trace


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return grid([tiny()], [FOUR], ["astraea", "tiresias-l", "fifo"], {"lease_term": [100, 300]})


def test_results_come_in_the_order_of_the_runs_and_equal_ones_once(runs: list[Run], tmp_path: Path) -> None:
    again = Run(tiny(), FOUR, get_policy(runs[0].policy.name).with_parameters(**runs[0].policy.parameters))
    *results, last = run_grid([*reversed(runs), again], cache=tmp_path, progress=False)
    for run, result in zip(reversed(runs), results, strict=True):
        same(result, simulate(run.trace, run.cluster, run.policy, run.seed, settings=run.settings))
    assert last is results[-1] is not results[0]
    assert len(list(tmp_path.iterdir())) == len(runs)


@pytest.mark.slow
def test_processes_give_the_same_bytes_as_one(runs: list[Run], tmp_path: Path) -> None:
    one = run_grid(runs, cache=tmp_path / "one", progress=False)
    with computing(jobs=2):
        two = run_grid(runs, cache=tmp_path / "two", progress=False)
        assert list(parallel_stream(os.getenv, [("OMP_NUM_THREADS",)] * 3)) == ["1"] * 3
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert len(content(tmp_path / "one")) == len(runs)
    for a, b in zip(one, two, strict=True):
        same(a, b)


def test_a_repeated_grid_computes_nothing_and_a_new_one_shows_its_progress(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run_grid(runs, cache=tmp_path, progress=False)
    forbid(monkeypatch)
    after = run_grid(runs, cache=tmp_path, progress=False)
    for a, b in zip(before, after, strict=True):
        same(a, b)
        assert a.seconds == b.seconds
    assert capsys.readouterr() == ("", "")
    monkeypatch.undo()
    run_grid(runs[:1], cache=tmp_path / "another")
    out, err = capsys.readouterr()
    assert err.splitlines()[0] == "simulating: 0 of 1 runs, 0 %, ? left"
    assert err.splitlines()[-1] == "simulating: 1 of 1 runs, 100 %, 00:00 left"
    assert out == ""


def test_a_run_that_fails_is_named_and_the_others_are_kept(runs: list[Run], tmp_path: Path) -> None:
    bad = Run(tiny("short"), FOUR, get_policy("astraea").with_parameters(lease_term=5), seed=3)
    worse = replace(bad, seed=4)
    with computing(jobs=2), pytest.raises(InputError) as caught:
        run_grid([bad, *runs, worse], cache=tmp_path, progress=False)
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

    monkeypatch.setattr("astraea.cluster.simulation.new_state", fail)
    with pytest.raises(PolicyError, match=f"trace tiny, 2 x 2 GPUs, policy astraea .*seed 0: .*{shown}$"):
        run_grid(runs[:1], cache=tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_policies_that_are_compared_run_the_same_jobs() -> None:
    rows = {"job_id": ["1", "2"], "tenant": ["a", "b"], "demand": [6, 1], "submit_time": 0.0, "duration": 5.0}
    trace = Trace.from_frame(pd.DataFrame(rows))
    alone = grid([trace], [Cluster(1, 8)], ["slurm"])
    assert [len(run.trace) for run in alone] == [2]
    both = grid([trace], [Cluster(1, 8)], ["slurm", "fifo"])
    ran = simulate(both[1].trace, both[1].cluster, both[1].policy).jobs["job_id"]
    assert both[0].trace.job_id.tolist() == ran.tolist() == ["2"]


def test_grid_gives_parameters_to_whom_has_them() -> None:
    points = {"lease_term": [100, 200], "placement": ["strict"]}
    some = grid([tiny()], [FOUR, Cluster(3, 2)], ["astraea", "fifo"], points, seeds=[0, 1])
    assert len(some) == 2 * (2 + 1) * 2
    assert {run.settings.placement for run in some} == {"strict"}
    assert [run.seed for run in some[:4]] == [0, 1, 0, 1]
    assert [r.policy.parameters.get("lease_term") for r in some[:6]] == [100, 100, 200, 200, None, None]


def test_what_is_refused(runs: list[Run], tmp_path: Path) -> None:
    for points, sentence in (({"leaseterm": [1]}, "unknown parameter 'leaseterm'"), ({"lease_term": []}, "no value")):
        with pytest.raises(InputError, match=sentence):
            grid([tiny()], [FOUR], ["astraea"], points)
    with pytest.raises(InputError, match="seed must be a whole number"):
        Run(tiny(), FOUR, get_policy("fifo"), 1.5)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        run_grid(runs, cache=tmp_path / "file", progress=False)


def test_a_table_has_a_row_per_run(runs: list[Run], tmp_path: Path) -> None:
    table = grid_table(runs, cache=tmp_path, progress=False)
    results = run_grid(runs, cache=tmp_path, progress=False)
    assert table["policy"].tolist() == [run.policy.name for run in runs]
    assert table["lease_term"].tolist()[:4] == [100, 300, 100, 300]
    assert table["average_jct"].tolist() == [summary(result)["average_jct"] for result in results]


def test_a_damaged_entry_is_noticed_and_computed_again(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = run_grid(runs[:2], cache=tmp_path, progress=False)
    before = content(tmp_path)
    victim = tmp_path / f"{runs[0].key}.zip"
    for damaged in (victim.read_bytes()[:-1000], b"", b"not an archive"):
        victim.write_bytes(damaged)
        again = run_grid(runs[:2], cache=tmp_path, progress=False)
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{victim}: damaged (") and line.endswith("computed again")
        assert content(tmp_path) == before
        for a, b in zip(good, again, strict=True):
            same(a, b)
    forbid(monkeypatch)
    run_grid(runs[:2], cache=tmp_path, progress=False)


def test_every_flipped_bit_is_noticed() -> None:
    data = pack(simulate(tiny(), FOUR, "fifo"))
    unpack(data)
    for i in range(0, len(data), 37):
        broken = bytearray(data)
        broken[i] ^= 1 << i % 8
        with pytest.raises(InputError):
            unpack(bytes(broken))


CHANGES: dict[str, dict[str, Any]] = {
    "trace": {"trace": tiny(last=101.0)},
    "name of the trace": {"trace": tiny("other")},
    "nodes": {"cluster": Cluster(3, 2)},
    "shape": {"cluster": Cluster(1, 4)},
    "policy": {"policy": get_policy("fifo")},
    "parameter": {"policy": get_policy("astraea").with_parameters(renewal_bonus=0.2)},
    "seed": {"seed": 1},
    "what is kept": {"keep": {"jobs": ("job_id",)}},
    "setting": {"settings": Settings(placement="strict")},
    "source of a policy": {"policy": replace(get_policy("astraea"), select=get_policy("fifo").select)},
}


def test_whatever_decides_a_result_is_in_its_key() -> None:
    base = Run(tiny(), FOUR, get_policy("astraea"))
    assert Run(tiny(), FOUR, get_policy("astraea")).key == base.key
    keys = [replace(base, **change).key for change in CHANGES.values()]
    assert len({base.key, *keys}) == 1 + len(CHANGES)


@pytest.mark.parametrize("computed", [0, 4])
def test_a_grid_ends_at_the_first_run_after_an_edit(
    computed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run during the edit is lost, and later runs do not begin."""
    runs = [Run(tiny(), FOUR, get_policy("fifo"), seed=seed) for seed in range(6)]
    done: list[Any] = []

    def reduced(*given: Any) -> Any:
        done.append(given)
        if len(done) == computed:
            monkeypatch.setattr(source, "STARTED", 0.0)
        return cache_reduced(*given)

    cache_reduced = cache.reduced
    monkeypatch.setattr(cache, "reduced", reduced)
    if not computed:
        monkeypatch.setattr(source, "STARTED", 0.0)
    with computing(jobs=1), pytest.raises(InputError, match=r"^astraea/\S* changed while .* results are kept\)$"):
        run_grid(runs, cache=tmp_path, progress=False)
    assert len(done) == computed
    assert len(list(tmp_path.iterdir())) == max(computed - 1, 0)


KILLED = """
import sys
sys.path[:0] = sys.argv[2:]
from small_runs import FOUR, tiny
from astraea.experiments.grid import grid, run_grid
from astraea.experiments.parallel import computing
runs = grid([tiny()], [FOUR], ["astraea"], {"lease_term": range(100, 500)})
with computing(jobs=1):
    run_grid(runs, cache=sys.argv[1], progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process")
def test_a_killed_grid_keeps_what_was_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = (sys.executable, "-c", KILLED, tmp_path, HELPERS, ROOT)
    with started(*command, env={"NUMBA_DISABLE_JIT": "1"}) as process:
        wait_until(lambda: len(list(tmp_path.glob("*.zip"))) >= 3, process)
        process.kill()
    kept = sorted(tmp_path.glob("*.zip"))
    assert len(kept) >= 3
    for path in kept:
        assert cache.read_entry(tmp_path, path.stem) is not None
    assert capsys.readouterr().err == ""


def test_what_takes_hours_is_announced(runs: list[Run]) -> None:
    assert cache.announcement(runs, 2) == ""
    many = [Call(summary, (), {}, expected=3600.0)] * 10
    assert "expect about 5.0 h on 2 processes" in cache.announcement(many, 2)
    assert "10 simulations" in cache.announcement(many, 2)
