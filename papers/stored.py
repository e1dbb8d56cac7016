"""Stored tables: a notebook shows the committed figures at once, and computes anew what a changed parameter asks for.

The runner decides the rest by the environment, so no cell has to: ``ASTRAEA_FIGURES`` is the folder of figures, and
``ASTRAEA_ANEW`` makes every table anew. `workers` says where the simulations run.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from astraea.core.files import write_atomically
from astraea.plots.files import save_table
from papers import ROOT

COMMITTED: Final = ROOT / "figures"
"""Folder of the committed tables and pictures."""

RECORD: Final = "made_with.json"
"""File of each folder of figures with the parameters of every stored table."""


def stored(
    name: str, parameters: Mapping[str, Any], compute: Callable[[], pd.DataFrame], needs: Sequence[Path] = ()
) -> pd.DataFrame:
    """Return a table: the committed one if it was made with these parameters, otherwise a new one.

    A new table is written into the folder of figures, and returned as it is read back: numbers have six digits either
    way, so both give the same picture.

    Parameters
    ----------
    name : str
        Name of the table's file, without its ending.
    parameters : mapping of str to numbers, text or lists of them
        Everything that the notebook varies and the table depends on.
    compute : function
        Makes the table.
    needs : paths, optional
        Files that `compute` reads. Where one is missing, the committed table is the answer.
    """
    asked = json.loads(json.dumps(dict(parameters), default=list))
    made = made_with(COMMITTED).get(name)
    is_there = (COMMITTED / f"{name}.csv").is_file() and made is not None
    missing = [path for path in needs if not path.exists()]
    is_asked = made == asked and not os.environ.get("ASTRAEA_ANEW")
    if is_there and (missing or is_asked):
        if not is_asked:
            print(f"{name}: the committed table, because {missing[0].name} is not there", file=sys.stderr)
        return read_table(COMMITTED / f"{name}.csv")
    if is_there and made != asked:
        other = [key for key in {**(made or {}), **asked} if (made or {}).get(key) != asked.get(key)]
        print(f"{name}: the committed table has another {', '.join(other)}; computing", file=sys.stderr)
    path = save_table(compute(), name)
    lock = os.open(path.parent, os.O_RDONLY)  # notebooks that run at once share the record
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = {**made_with(path.parent), name: asked}
        write_atomically(path.parent / RECORD, json.dumps(dict(sorted(record.items())), indent=1) + "\n")
    finally:
        os.close(lock)
    return read_table(path)


def made_with(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of every stored table of a folder."""
    path = folder / RECORD
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def read_table(path: Path) -> pd.DataFrame:
    """Read a table of a folder of figures; names, also those of digits, are text."""
    text = path.read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(("demand", "job_id", "tenant", "scheduler"), str))
