"""The leases in the state of a coordinator."""

from __future__ import annotations

import sqlite3

from astraea_ops.live.state import Lease


def all_leases(db: sqlite3.Connection) -> list[Lease]:
    """Return every lease, in the order in which they were granted."""
    return [Lease(*row) for row in db.execute("select * from lease order by granted, serial")]
