"""The coordinator's memory in a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live_cluster import EPOCH, job, no_history

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.live.answers import Node
from astraea.live.config import Config
from astraea.live.ledger import Ledger, all_leases, lock, open_to_read, read_state
from astraea.live.rounds import Rounds, Snapshot
from astraea.live.state import AccountsState, State

NODES = [Node("n1", 8, True)]


def rounds(path: Path, policy: str = "astraea-released") -> Rounds:
    config = Config("gpu", path, get_policy(policy)(lease_term=100), history=1.0)
    return Rounds(config, 8, EPOCH, None, no_history)


def in_order(b: AccountsState) -> AccountsState:
    """The same, by names: rows of the file have no order."""
    job = np.argsort([m.id for m in b.admitted])
    tenant = np.argsort(b.tenants)
    share = sorted(range(len(b.share)), key=lambda k: (b.share_tenant[k], *b.share[k].tolist()[:2]))
    return b._replace(
        admitted=tuple(b.admitted[k] for k in job), job=b.job[job], private=b.private[job], memory=b.memory[:, job],
        tenants=tuple(b.tenants[k] for k in tenant), tenant=b.tenant[tenant], timeline=b.timeline[:, tenant],
        tenant_memory=b.tenant_memory[:, tenant], share=b.share[share],
        share_tenant=tuple(b.share_tenant[k] for k in share),
    )  # fmt: skip


def same(a: AccountsState, b: AccountsState) -> bool:
    """Whether two are equal to the last bit, NaN being NaN."""
    for name in AccountsState._fields:
        one, other = getattr(in_order(a), name), getattr(in_order(b), name)
        if isinstance(one, tuple):
            if one != other:
                return False
        elif one.dtype.names is None:
            if not np.array_equal(one, other):
                return False
        elif not all(
            np.array_equal(one[f], other[f], equal_nan=one[f].dtype.kind == "f")
            for f in one.dtype.names if f not in ("heap_position", "log_of")
        ):  # fmt: skip
            return False
    return True


def test_what_is_written_is_read_to_the_last_bit(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    r = rounds(path)
    with closing(Ledger(path)) as ledger:
        assert ledger.read() is None
        jobs = [job(str(k), demand=3, account=f"t{k % 2}", submit=EPOCH + k / 3) for k in range(5)]
        for second in (10, 20, 110, 4000, 8000):
            shown = [j._replace(state="RUNNING", held=False, start=EPOCH + 11) if j.id in r.leases else j for j in jobs]
            result = r.play(Snapshot(EPOCH + second, shown, NODES))
            ledger.write(result.state, result.over)
            with closing(Ledger(path)) as other:
                found = other.read()
            assert found is not None
            assert found.epoch == result.state.epoch
            assert found.leases == result.state.leases
            assert same(found.accounts, result.state.accounts)
    assert len(result.state.accounts.timeline) > 24
    with closing(open_to_read(path)) as db:
        leases = all_leases(db)
    assert {lease.outcome for lease in leases} >= {"running", "not renewed"}
    assert len({(lease.job, lease.number) for lease in leases}) == len(leases)


def test_a_round_that_cannot_be_written_is_written_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    r = rounds(path)
    with closing(Ledger(path)) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        first = r.play(Snapshot(EPOCH, [job("1")], NODES)).state
        ledger.write(first)
        second = r.play(Snapshot(EPOCH + 10, [job("1"), job("2")], NODES)).state
        ledger._db.execute("pragma max_page_count = 1")  # the disk is full
        with pytest.raises(sqlite3.OperationalError, match="full"):
            for k in range(3000):
                ledger.write(State(k, second.accounts, {}), [])
                second = r.play(Snapshot(EPOCH + 10 + k, [job(str(i)) for i in range(1, k + 3)], NODES)).state
        found = read_state(other)
        assert found is not None
        assert len(found.accounts.admitted) < len(second.accounts.admitted)
        ledger._db.execute("pragma max_page_count = 1073741823")
        ledger.write(second)
        found = read_state(other)
        assert found is not None
        assert same(found.accounts, second.accounts)


def test_jobs_that_are_done_leave_the_accounts_and_not_the_history(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    r = rounds(path)
    with closing(Ledger(path)) as ledger:
        result = r.play(Snapshot(EPOCH, [job("1")], NODES))
        ledger.write(result.state, result.over)
        done = job("1", state="COMPLETED", start=EPOCH + 1, end=EPOCH + 5)
        result = r.play(Snapshot(EPOCH + 10, [done], NODES))
        ledger.write(result.state, result.over)
    with closing(open_to_read(path)) as db:
        assert db.execute("select count(*) from job").fetchone() == (0,)
        (lease,) = all_leases(db)
    assert (lease.outcome, lease.over) == ("ended", EPOCH + 5)


def test_a_file_that_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    path.write_text("no database" * 100)
    with pytest.raises(InputError, match="cannot be used as the state"):
        Ledger(path)


def test_one_at_a_time(tmp_path: Path) -> None:
    with lock(tmp_path / "state.sqlite"), pytest.raises(InputError, match="another coordinator"):
        lock(tmp_path / "state.sqlite")
    lock(tmp_path / "state.sqlite").close()


@pytest.mark.parametrize("before", [{}, {"a": 1.0, "b": 1.0}])
def test_a_tenant_that_is_gone_leaves_no_hours(tmp_path: Path, before: dict[str, float]) -> None:
    path = tmp_path / "state.sqlite"
    config = Config("gpu", path, get_policy("astraea")(lease_term=100), history=1.0, weights=before)
    with closing(Ledger(path)) as ledger:
        one = Rounds(config, 8, EPOCH, None, no_history)  # of nobody, or of a and b
        ledger.write(one.play(Snapshot(EPOCH, [], NODES)).state)
        after = replace(config, weights={"a": 1.0} if before else {})
        other = Rounds(after, 8, EPOCH + 10, ledger.read(), no_history)
        ledger.write(other.play(Snapshot(EPOCH + 10, [job("1")], NODES)).state)
        state = ledger.read()
    assert state is not None
    assert state.accounts.tenants == ("a",)
    with closing(open_to_read(path)) as db:
        assert {tenant for (tenant,) in db.execute("select tenant from hour")} == {"a"}
