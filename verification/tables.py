"""Compare the tables behind the figures of two checkouts: ``python -m verification.tables OLD NEW``.

Every value of every ``figures/*.csv`` is compared as text. Columns that are times of this machine are
counted apart; everything else must be equal, and each difference is named with its file, row and column.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

TIMES: Final = ("seconds", "seconds_per_job")
"""Columns with times of the machine that drew the figure."""

MOST_SHOWN: Final = 20
"""Differences that are printed of one file."""


class Compared(NamedTuple):
    """The comparison: sentences, and the numbers of compared values and times."""

    differences: list[str]
    files: int
    compared: int
    times: int


def compare_tables(old: Path, new: Path) -> Compared:
    """Compare all tables of two folders.

    Parameters
    ----------
    old, new : path
        A checkout, or its folder of figures.

    Returns
    -------
    Compared
        A sentence for each value that differs, each table that only one side has, and each whose columns or length
        differ.
    """
    before, after = ({path.name: path for path in sorted(_figures(side).glob("*.csv"))} for side in (old, new))
    differences = [f"{name}: only in {old}" for name in before if name not in after]
    differences += [f"{name}: only in {new}" for name in after if name not in before]
    values = times = 0
    both = [name for name in before if name in after]
    for name in both:
        a, b = (pd.read_csv(side[name], dtype=str, keep_default_na=False) for side in (before, after))
        if list(a) != list(b) or len(a) != len(b):
            was, now = (f"{len(table)} rows of {', '.join(map(str, table))}" for table in (a, b))
            differences.append(f"{name}: {was} became {now}")
            continue
        measured = [column for column in a if column not in TIMES]
        values, times = values + len(measured) * len(a), times + (a.shape[1] - len(measured)) * len(a)
        for column in measured:
            for row in (a[column] != b[column]).to_numpy().nonzero()[0]:
                differences.append(f"{name}, row {row + 2}: {column} {a[column][row]} became {b[column][row]}")
    return Compared(differences, len(both), values, times)


def _figures(side: Path) -> Path:
    return side / "figures" if (side / "figures").is_dir() else side


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs; 0 if nothing does."""
    parser = argparse.ArgumentParser(prog="python -m verification.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", type=Path, help="a checkout, or its folder of figures")
    parser.add_argument("new", type=Path, help="another one")
    given = parser.parse_args(argv)
    found = compare_tables(given.old, given.new)
    shown: dict[str, int] = {}
    for sentence in found.differences:
        name = sentence.split(",")[0].split(":")[0]
        shown[name] = shown.get(name, 0) + 1
        if shown[name] <= MOST_SHOWN:
            print(sentence)
    for name, number in shown.items():
        if number > MOST_SHOWN:
            print(f"{name}: {number - MOST_SHOWN} more")
    number = len(found.differences)
    print(f"{found.files} tables, {found.compared} values: {number} differ ({found.times} times left out)")
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
