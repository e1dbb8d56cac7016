"""The coordinator's memory in a file: what is kept, its layout, its mode, and ids of jobs that come again."""

from __future__ import annotations

import os
import pwd
import sqlite3
import stat
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from live_cluster import CONFIG, EPOCH, job, rounds, step
from live_leases import all_leases

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea_ops.live import state as layout
from astraea_ops.live.ledger import Ledger, lock, open_to_read, read_state
from astraea_ops.live.state import AccountsState, State

ANYONE = replace(CONFIG, policy=get_policy("astraea-released").with_parameters(lease_term=100), weights={})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The place of the state."""
    return tmp_path / "state.sqlite"


def by_name(b: AccountsState) -> dict[str, object]:
    """Return the whole state by names of jobs and tenants, to the last bit, because rows of the file have no order."""
    private = [name for name in b.private.dtype.names if name not in ("heap_position", "log_of")]
    return {
        "clock": b.clock.tobytes(),
        "job": {m: (repr(b.private[private][k]), repr(b.job[k]), repr(b.memory[k]))
                for k, m in enumerate(b.admitted)},
        "tenant": {name: (b.tenant[t].tobytes(), repr(b.tenant_memory[t]), b.timeline[:, t].tobytes())
                   for t, name in enumerate(b.tenants)},
        "share": {(name, b.share[k].tobytes()) for k, name in enumerate(b.share_tenant)},
    }  # fmt: skip


def test_what_is_written_is_read_to_the_last_bit(path: Path) -> None:
    r = rounds(ANYONE)
    with closing(Ledger(path)) as ledger:
        assert ledger.read() is None
        jobs = [job(str(k), demand=6, account=f"t{k % 2}", submit=EPOCH + k / 3) for k in range(5)]
        for second in (10, 20, 110, 4000, 8000):
            shown = [j._replace(state="RUNNING", held=False, start=EPOCH + 11) if j.id in r.leases else j for j in jobs]
            result = step(r, second, *shown)
            ledger.write(result.state, result.over)
            with closing(Ledger(path)) as other:
                found = other.read()
            assert found is not None
            assert found.epoch == result.state.epoch
            assert found.leases == result.state.leases
            assert by_name(found.accounts) == by_name(result.state.accounts)
    assert len(result.state.accounts.timeline) > 24
    with open_to_read(path) as db:
        leases = all_leases(db)
    assert {lease.outcome for lease in leases} >= {"running", "not renewed"}
    assert len({(lease.job, lease.number) for lease in leases}) == len(leases)


def test_a_round_that_cannot_be_written_is_written_with_the_next(path: Path) -> None:
    r = rounds(ANYONE)
    with closing(Ledger(path)) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        first = step(r, 0, job("1")).state
        ledger.write(first)
        second = step(r, 10, job("1"), job("2")).state
        ledger._db.execute("pragma max_page_count = 1")  # the disk is full
        with pytest.raises(sqlite3.OperationalError, match="full"):
            for k in range(3000):
                ledger.write(State(k, second.accounts, {}), [])
                second = step(r, 10 + k, *(job(str(i)) for i in range(1, k + 3))).state
        found = read_state(other)
        assert found is not None
        assert len(found.accounts.admitted) < len(second.accounts.admitted)
        ledger._db.execute("pragma max_page_count = 1073741823")
        ledger.write(second)
        found = read_state(other)
        assert found is not None
        assert by_name(found.accounts) == by_name(second.accounts)


def test_a_file_that_is_no_state_or_anothers_is_refused(path: Path) -> None:
    with lock(path), pytest.raises(InputError, match="another coordinator"):
        lock(path)
    lock(path).close()
    path.write_text("no database" * 100)
    with pytest.raises(InputError, match="cannot be used as the state"):
        Ledger(path)


@pytest.mark.parametrize("before", [{}, {"a": 1.0, "b": 1.0}])
def test_a_tenant_that_is_gone_leaves_no_hours(path: Path, before: dict[str, float]) -> None:
    config = replace(CONFIG, weights=before)
    with closing(Ledger(path)) as ledger:
        one = rounds(config)  # of nobody, or of a and b
        ledger.write(step(one, 0).state)
        other = rounds(replace(config, weights={"a": 1.0} if before else {}), ledger.read())
        ledger.write(step(other, 10, job("1")).state)
        state = ledger.read()
    assert state is not None
    assert state.accounts.tenants == ("a",)
    with open_to_read(path) as db:
        assert {tenant for (tenant,) in db.execute("select tenant from hour")} == {"a"}


@pytest.mark.parametrize(
    "columns", [(*layout.COLUMNS["job"], "new"), tuple(reversed(layout.COLUMNS["job"]))], ids=["names", "order"]
)
def test_a_state_of_other_columns_is_refused_and_left_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...]
) -> None:
    Ledger(path).close()
    written = path.read_bytes()
    before = layout.version()
    assert 1 < before < 2**31
    monkeypatch.setitem(layout.COLUMNS, "job", columns)
    for use in (lambda path: closing(Ledger(path)), open_to_read):
        with pytest.raises(
            InputError, match=rf"state\.sqlite: the state has layout {before}, expected \d+; use the version"
        ), use(path):
            pass
    assert path.read_bytes() == written


@pytest.mark.parametrize("given", [None, 0o640])
def test_the_state_is_for_its_owner_alone_unless_the_owner_says_otherwise(tmp_path: Path, given: int | None) -> None:
    path = tmp_path / "new" / "state.sqlite"
    before = os.umask(0)
    try:
        if given is not None:
            Ledger(path).close()
            path.chmod(given)
        with lock(path), closing(Ledger(path)) as ledger:
            ledger.write(step(rounds(ANYONE), 0, job("1")).state)
            found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert found.pop("state.sqlite.lock") == 0o600
    assert found == dict.fromkeys(("state.sqlite", "state.sqlite-wal", "state.sqlite-shm"), given or 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root can be two users")
@pytest.mark.parametrize("is_open", [True, False])
def test_others_may_look_if_they_are_let_in(is_open: bool) -> None:
    with tempfile.TemporaryDirectory() as name:  # in a folder that everybody may enter
        Path(name).chmod(0o755)
        path = Path(name, "state.sqlite")
        Ledger(path).close()
        path.chmod(0o644)
        with closing(Ledger(path)) as ledger:
            ledger.write(step(rounds(ANYONE), 0, job("1")).state)
            if not is_open:
                ledger.close()
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
            try:
                with open_to_read(path) as db:
                    assert len(all_leases(db)) == 1
            finally:
                os.seteuid(0)


def test_history_is_kept_when_ids_come_again(path: Path) -> None:
    r = rounds(ANYONE)
    with closing(Ledger(path)) as ledger:
        for start in (0, 1000):  # Slurm has used all ids in between
            one = job("1", submit=EPOCH + start)
            runs = one._replace(state="RUNNING", held=False, start=EPOCH + start + 1)
            for second, shown in ((0, [one]), (10, [runs]), (20, [])):
                result = step(r, start + second, *shown)
                ledger.write(result.state, result.over)
        found = all_leases(ledger._db)
        assert ledger._db.execute("select count(*) from job").fetchone() == (0,)  # the accounts forget what is done
    assert [(x.job, x.number, x.granted - EPOCH, x.outcome) for x in found] == [
        ("1", 1, 0, "ended"), ("1", 1, 1000, "ended"),
    ]  # fmt: skip
    assert len({lease.serial for lease in found}) == 2
