"""The cache of results: exact, never stale, whole whatever happens."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import HELPERS, ROOT
from processes import started, wait_until
from small_runs import FOUR, content, forbid, same, tiny

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core import source
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.experiments import cache, keys
from astraea.experiments.archive import pack, unpack
from astraea.experiments.grid import grid, run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Call, Run


def small_grid() -> list[Run]:
    return grid([tiny()], [FOUR], ["astraea", "tiresias-l", "fifo"], {"lease_term": [100, 300]})


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return small_grid()


def test_a_damaged_entry_is_noticed_and_computed_again(
    runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = run_grid(runs[:2], cache=tmp_path, progress=False)
    before = content(tmp_path)
    victim, other = (tmp_path / f"{run.key}.zip" for run in runs[:2])
    for damaged in (victim.read_bytes()[:-1000], b"", b"not an archive", other.read_bytes()):
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
    "what is kept": {"kept": {"jobs": ("job_id",)}},
    "setting": {"settings": Settings(placement="strict")},
    "source of a policy": {"policy": replace(get_policy("astraea"), select=get_policy("fifo").select)},
}


def test_whatever_decides_a_result_is_in_its_key() -> None:
    base = Run(tiny(), FOUR, get_policy("astraea"))
    assert Run(tiny(), FOUR, get_policy("astraea")).key == base.key
    keys = [replace(base, **change).key for change in CHANGES.values()]
    assert len({base.key, *keys}) == 1 + len(CHANGES)


def test_all_code_that_a_run_can_reach_is_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever package its functions are taken for."""
    base, reached = Run(tiny(), FOUR, get_policy("fifo")), keys.reached
    before = base.key
    monkeypatch.setattr(keys, "reached", lambda *given: reached(*given)._replace(digest="another"))
    assert base.key != before


@pytest.mark.parametrize("computed", [0, 4])
def test_a_grid_ends_at_the_first_run_after_an_edit(
    computed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run during which it is made is lost, and those after it are not begun."""
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
    with computing(jobs=1), pytest.raises(InputError, match=r"^astraea/\S* was changed .* is kept\)$"):
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
