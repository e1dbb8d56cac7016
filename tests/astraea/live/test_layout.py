"""The state file: its layout, states of older layouts, its mode, and ids of jobs that come again."""

from __future__ import annotations

import os
import sqlite3
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

FIRST = """
create table clock (id integer primary key, epoch, {clock});
create table hour (hour, tenant, {hour}, primary key (hour, tenant));
create table job (id text primary key, owner, user, memory, {job});
create table lease ({lease}, primary key (job, number));
create table share (tenant, {share}, primary key (tenant, demand, weight));
create table tenant (name text primary key, memory, {tenant});
insert into lease values ('1', 2, 'a', 8, 1, 4000, 4100, 0, 0, 'running', 0, 0);
insert into lease values ('1', 1, 'a', 8, 1, 0, 100, 1, 100, 'not renewed', 0, 0);
insert into lease values ('2', 1, 'b', 8, 1, 100, 200, 0, 4000, 'not renewed', 0, 0);
pragma user_version = 1;
"""
"""Tables as the first version made them."""


def first(path: Path, without: str = "") -> None:
    """Write a state of the first version, maybe without one column."""
    own = {"clock": 3, "hour": 2, "job": 4, "share": 1, "tenant": 2}
    columns = {name: [c for c in layout.COLUMNS[name][skip:] if c != without] for name, skip in own.items()}
    columns["lease"] = [c for c in layout.LEASE if c != "serial"]
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FIRST.format(**{name: ", ".join(f'"{c}"' for c in of) for name, of in columns.items()}))


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


def test_the_version_follows_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.sqlite"
    Ledger(path).close()
    before = layout.version()
    assert layout.FIRST < before < 2**31
    Ledger(path).close()
    monkeypatch.setitem(layout.COLUMNS, "hour", (*layout.COLUMNS["hour"], "new"))
    assert layout.version() != before
    for use in (Ledger, open_to_read):
        with pytest.raises(
            InputError, match=rf"state\.sqlite: the state has the layout {before}, expected \d+; go back"
        ):
            use(path)


def test_the_order_of_the_columns_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    before = layout.version()
    monkeypatch.setitem(layout.COLUMNS, "job", tuple(reversed(layout.COLUMNS["job"])))
    assert layout.version() != before


def test_a_state_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    first(path)
    path.chmod(0o644)  # as the umask had it
    with pytest.raises(InputError, match="an older version wrote this state; start the coordinator"):
        open_to_read(path)
    with closing(Ledger(path)) as ledger:
        found = [(lease.job, lease.number, lease.outcome, lease.serial) for lease in all_leases(ledger._db)]
        assert found == [("1", 1, "not renewed", 1), ("2", 1, "not renewed", 2), ("1", 2, "running", 3)]
        assert ledger.read() is None  # no round was written
        ledger.write(rounds(path).state())
    with closing(open_to_read(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (layout.version(),)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_state_of_the_first_version_with_other_columns_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    first(path, without="launch")
    with closing(sqlite3.connect(path)) as db:
        before = list(db.iterdump())
    with pytest.raises(InputError, match=r"table job of this older state has the columns .*, expected .*; go back to"):
        Ledger(path)
    with closing(sqlite3.connect(path)) as db:
        assert list(db.iterdump()) == before
        assert db.execute("pragma user_version").fetchone() == (layout.FIRST,)


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
