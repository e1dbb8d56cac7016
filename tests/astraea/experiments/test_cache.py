"""Grids of runs and the cache of their results: exact, never stale, independent of how they are computed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from places import HELPERS, ROOT
from processes import run as run_command
from processes import started, wait_until
from small_runs import FOUR, content, forbid, same, tiny

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core import source
from astraea.core.errors import InputError, PolicyError
from astraea.core.metrics import summary
from astraea.core.result import Result
from astraea.experiments import cache
from astraea.experiments.archive import pack, unpack
from astraea.experiments.grid import grid, grid_table, run_grid
from astraea.experiments.run import Run, code_of
from astraea.traces.trace import Trace


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return grid([tiny()], [FOUR], ["astraea", "tiresias-l", "fifo"], {"lease_term": [100, 300]})


def test_results_come_in_the_order_of_the_runs_and_equal_ones_once(runs: list[Run], tmp_path: Path) -> None:
    again = Run(tiny(), FOUR, get_policy(runs[0].policy.name).with_parameters(**runs[0].policy.parameters))
    *results, last = run_grid([*reversed(runs), again], cache=tmp_path, progress=False)
    for one, result in zip(reversed(runs), results, strict=True):
        same(result, simulate(one.trace, one.cluster, one.policy, one.seed, settings=one.settings))
    assert last is results[-1] is not results[0]
    assert len(list(tmp_path.iterdir())) == len(runs)


@pytest.mark.slow
def test_processes_give_the_same_bytes_as_one(runs: list[Run], tmp_path: Path) -> None:
    one = run_grid(runs, cache=tmp_path / "one", progress=False)
    with joblib.parallel_config("loky", n_jobs=2):
        two = run_grid(runs, cache=tmp_path / "two", progress=False)
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
    with joblib.parallel_config("loky", n_jobs=2), pytest.raises(InputError) as caught:
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


@pytest.mark.parametrize("computed", [1, 4])
def test_a_grid_ends_at_the_first_run_after_an_edit(
    computed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run during the edit is lost, and later runs do not begin."""
    runs = [Run(tiny(), FOUR, get_policy("fifo"), seed=seed) for seed in range(6)]
    done: list[Any] = []

    def reduced(*given: Any) -> Any:
        done.append(given)
        if len(done) == computed:
            monkeypatch.setattr(source, "_read", lambda _: "of an edited file")
        return cache_reduced(*given)

    cache_reduced = cache.reduced
    monkeypatch.setattr(cache, "reduced", reduced)
    with pytest.raises(cache.ChangedError, match=r"edited meanwhile; start again \(finished results are kept\)$"):
        run_grid(runs, cache=tmp_path, progress=False)
    assert len(done) == computed
    assert len(list(tmp_path.iterdir())) == computed - 1


KILLED = """
import sys
sys.path[:0] = sys.argv[2:]
from small_runs import FOUR, tiny
from astraea.experiments.grid import grid, run_grid
import joblib
runs = grid([tiny()], [FOUR], ["astraea"], {"lease_term": range(100, 500)})
with joblib.parallel_config("loky", n_jobs=1):
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


OWN = """
from astraea.cluster.policy import all_candidates, fits, grant, policy, record
{imports}
@policy("own", **dict({declared}))
def own(s):
    for j in all_candidates(s)[:: {step}]:
        if fits(s, j):
            grant(s, j)
"""


def own(step: str = "1", declared: str = "", imports: str = "") -> Policy:
    """A policy of a user, in order of arrival or in reverse."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(OWN.format(step=step, declared=declared, imports=imports), "<cell>", "exec"), scope)
    made: Policy = scope["own"]
    return made


def test_two_policies_of_one_name_give_two_results_and_two_provenances(tmp_path: Path) -> None:
    there, back = run_grid([Run(tiny(), FOUR, own(step)) for step in ("1", "-1")], cache=tmp_path, progress=False)
    assert there.jobs["end_time"].tolist() != back.jobs["end_time"].tolist()
    assert there.provenance["policy_sha256"] != back.provenance["policy_sha256"]
    same(run_grid([Run(tiny(), FOUR, own("1"))], cache=tmp_path, progress=False)[0], there)
    assert len(list(tmp_path.iterdir())) == 2


def test_whatever_a_policy_declares_is_in_its_key(tmp_path: Path) -> None:
    """The cache must not answer where `simulate` refuses."""
    shown = (
        "memory=record(('seen', bool))", "revisit=lambda p: 2", "synchronous=lambda p: True", "largest=lambda p: 2.0",
        "alike=True", "equal_parts=True",
    )  # fmt: skip
    keys = {Run(tiny(), FOUR, own(declared=declared)).key for declared in ("", *shown)}
    assert len(keys) == 1 + len(shown)
    uneven = Cluster.of([3, 1])
    run_grid([Run(tiny(), uneven, own())], cache=tmp_path, progress=False)
    with pytest.raises(InputError, match="policy own needs nodes of equal size"):
        run_grid([Run(tiny(), uneven, own(declared="alike=True"))], cache=tmp_path, progress=False)


@pytest.mark.parametrize("functions", [
    "astraea.cluster.simulation", "papers.ye2022.generator",
])  # fmt: skip
def test_every_module_that_a_cached_function_imports_is_in_its_key(functions: str) -> None:
    """An edit of any of them must move the key."""
    inside = {*(f"astraea.{part}" for part in source.SIMULATING), "astraea.experiments", "astraea.plots",
              "papers.charts", ".".join(functions.split(".")[:2])}  # fmt: skip
    code = f"import sys, {functions}; print(*(m for m in sys.modules if m.startswith(('astraea.', 'papers.'))))"
    done = run_command(sys.executable, "-c", code, env={"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)})
    imported = {".".join(module.split(".")[:2]) for module in done.stdout.split() if module.count(".") > 1}
    assert imported <= inside


@pytest.mark.parametrize("edited", ["astraea/core/units.py", "astraea/traces/synthetic/venus.toml", "papers/areas.py",
                                    "papers/gavel/sums.py", "papers/market/model.py"])  # fmt: skip
def test_an_edit_of_the_source_moves_the_key_of_what_computes_with_it(edited: str, tmp_path: Path) -> None:
    for name in ("astraea", "papers"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    modules = ["astraea.cluster.simulation", "papers.gavel.simulate", "papers.market.model"]
    code = f"import papers; from astraea.core.source import digest; print(*map(digest, {modules}))"
    env = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    before = run_command(sys.executable, "-c", code, env=env, cwd=tmp_path).stdout.split()
    (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# a comment\n")
    after = run_command(sys.executable, "-c", code, env=env, cwd=tmp_path).stdout.split()
    moved = [module for module, old, new in zip(modules, before, after, strict=True) if old != new]
    expected = {"astraea": modules, "areas.py": modules[1:], "gavel": modules[1:2], "market": modules[2:]}
    assert moved == expected[next(part for part in expected if part in edited)]


def test_versions_that_matter_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_of(summary)
    monkeypatch.setattr("astraea.experiments.run.versions", lambda: {"numpy": "0"})
    assert code_of(summary) != before


def test_the_results_that_were_not_used_for_longest_go_first(tmp_path: Path) -> None:
    for age, name in enumerate("abcd"):
        (tmp_path / f"{name}.zip").write_bytes(bytes(100))
        os.utime(tmp_path / f"{name}.zip", (1e9 - age, 1e9 - age))
    (tmp_path / "theirs.txt").write_text("")
    assert cache.size(tmp_path) == (4, 400)
    assert cache.trim(tmp_path, 400) == 0 and cache.trim(tmp_path, 250) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "b.zip", "theirs.txt"}
    assert cache.trim(tmp_path, 0) == 2


def test_a_result_that_another_process_has_just_removed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.zip").write_bytes(bytes(100))
    listed = [(path, path.stat()) for path in sorted(tmp_path.iterdir())]
    (tmp_path / "a.zip").unlink()
    monkeypatch.setattr(cache, "_entries", lambda _: listed)
    cache.trim(tmp_path, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_cached_result_that_is_read_counts_as_used(runs: list[Run], tmp_path: Path) -> None:
    run_grid(runs[:2], cache=tmp_path, progress=False)
    for path in tmp_path.iterdir():
        os.utime(path, (1e9, 1e9))
    run_grid(runs[:1], cache=tmp_path, progress=False)
    assert [path.stem for path in tmp_path.iterdir() if path.stat().st_mtime > 1e9] == [runs[0].key]
