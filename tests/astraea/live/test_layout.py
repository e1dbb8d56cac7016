"""The state file: its layout, its mode, and ids of jobs that come again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from live_cluster import EPOCH, job, no_history

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.live import layout
from astraea.live.answers import Node
from astraea.live.config import Config
from astraea.live.ledger import Ledger, all_leases, lock, open_to_read
from astraea.live.rounds import Rounds, Snapshot
from astraea.live.state import Lease

NODES = [Node("n1", 8, True)]

def rounds(path: Path, jobs: int = 1) -> Rounds:
    r = Rounds(Config("gpu", path, get_policy("astraea")(lease_term=100), history=0), 8, EPOCH, None, no_history)
    r.play(Snapshot(EPOCH, [job(str(k)) for k in range(1, jobs + 1)], NODES))
    return r


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Set the umask of this process for a while."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_the_state_is_for_its_owner_alone(tmp_path: Path, umask: Callable[[int], int]) -> None:
    umask(0)
    path = tmp_path / "new" / "state.sqlite"
    with lock(path), closing(Ledger(path)) as ledger:
        ledger.write(rounds(path).state())
        found = modes(path.parent)
    assert set(found) >= {"state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.sqlite.lock"}
    assert set(found.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_mode_that_its_owner_gave_it_is_kept(tmp_path: Path, umask: Callable[[int], int]) -> None:
    umask(0o077)
    path = tmp_path / "state.sqlite"
    Ledger(path).close()
    path.chmod(0o640)
    with closing(Ledger(path)) as ledger:
        ledger.write(rounds(path).state())
        assert set(modes(tmp_path).values()) == {0o640}


@pytest.mark.parametrize(
    "columns", [(*layout.COLUMNS["job"], "new"), tuple(reversed(layout.COLUMNS["job"]))], ids=["names", "order"]
)
def test_a_state_of_other_columns_is_refused_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...]
) -> None:
    path = tmp_path / "state.sqlite"
    Ledger(path).close()
    written = path.read_bytes()
    before = layout.version()
    assert 1 < before < 2**31
    monkeypatch.setitem(layout.COLUMNS, "job", columns)
    for use in (Ledger, open_to_read):
        with pytest.raises(
            InputError, match=rf"state\.sqlite: the state has the layout {before}, expected \d+; go back"
        ):
            use(path)
    assert path.read_bytes() == written


def test_history_is_kept_when_ids_come_again(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    r = Rounds(Config("gpu", path, get_policy("astraea")(lease_term=100), history=0), 8, EPOCH, None, no_history)
    with closing(Ledger(path)) as ledger:
        for start in (0, 1000):  # Slurm has used all ids in between
            came = EPOCH + start
            for snapshot in (
                Snapshot(came, [job("1", submit=came)], NODES),
                Snapshot(came + 10, [job("1", submit=came, state="RUNNING", held=False, start=came + 1)], NODES),
                Snapshot(came + 20, [], NODES),
            ):
                result = r.play(snapshot)
                ledger.write(result.state, result.over)
        found: list[Lease] = all_leases(ledger._db)
    assert [(x.job, x.number, x.granted - EPOCH, x.outcome) for x in found] == [
        ("1", 1, 0, "ended"), ("1", 1, 1000, "ended"),
    ]  # fmt: skip
    assert len({lease.serial for lease in found}) == 2


def test_serial_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with closing(Ledger(path)) as ledger:
        ledger.write(rounds(path, jobs=3).state())
    with closing(Ledger(path)) as ledger:
        state = ledger.read()
    assert state is not None and state.serial == 3
    config = Config("gpu", path, get_policy("astraea")(lease_term=100), history=0)
    again = Rounds(config, 8, EPOCH + 10, state, no_history)
    result = again.play(Snapshot(EPOCH + 10, [job(str(k)) for k in range(1, 5)], NODES))
    assert sorted(lease.serial for lease in result.state.leases.values()) == [1, 2, 3, 4]
