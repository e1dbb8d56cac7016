"""Shared code of the readers: text files, and a table of text that knows the line and the faults of every row."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import BoolArray, FloatArray, TextArray
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import MAX_TIME, TIME, Where, gpus, refuse, shown

#: notations of a missing time in public logs
NO_DATE: Final = ("", "None", "NaT", "nan", "null", "NULL")

Unit = tuple[float, float]
"""Unit of time: (multiply, divide) to get seconds."""

Faults = dict[int, tuple[str, str]]
"""Rows that cannot be read, by line: the reason, and the text that is there instead."""

WIDTH: Final = "has another number of columns"

def read_text(path: Path) -> str:
    """Return the whole file as text (UTF-8, possibly compressed with gzip), or raise `InputError`."""
    with opened(path) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return text


def read_lines(path: Path, strict: bool) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, and their numbers; bytes that are not UTF-8 are escaped unless `strict`."""
    with opened(path, "strict" if strict else "backslashreplace") as file:
        empty = True
        for number, line in enumerate(file, 1):
            if line.strip():
                empty = False
                yield number, line.rstrip("\r\n")
    if empty:
        raise InputError(f"{path}: the file is empty")


def read_start(path: Path, errors: str = "backslashreplace") -> str:
    """Return the lines, of at most 64 Ki characters, up to the first that is neither blank nor a comment (``;``)."""
    text = ""
    with opened(path, errors) as file:
        while line := file.readline(1 << 16):
            text += line
            if line.strip() and line.lstrip()[0] != ";":
                break
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return text


@contextmanager
def opened(path: Path, errors: str = "strict") -> Iterator[TextIO]:
    """Open a file as text with its line ends unchanged; `InputError` if it is not text."""
    try:
        with path.open("rb") as file:
            source = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file
            yield io.TextIOWrapper(source, encoding="utf-8-sig", newline="\n", errors=errors)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as err:
        raise InputError(f"{path}: the gzip file is damaged ({err})") from None
    except UnicodeDecodeError as err:
        raise InputError(f"{path}: not a text file, byte {err.start} is not UTF-8") from None
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror})") from None


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, or raise `InputError`."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as err:
        raise InputError(f"{path}, line {err.lineno}: not JSON ({err.msg}, column {err.colno})") from None
    except (RecursionError, ValueError) as err:
        raise InputError(f"{path}: not JSON that can be read ({err})") from None


@dataclass(frozen=True)
class Table:
    """Named columns of text, and the line of the file on which each row starts."""

    path: Path
    columns: dict[str, TextArray]
    lines: npt.NDArray[np.int64]
    strict: bool = True  #: if true, the first bad row is an error; otherwise it is one of the faults
    faults: Faults = field(default_factory=dict)
    row: str = "line {}"  #: how the place of a row is called

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """Return the location of a row, for messages."""
        return f"{self.path}, {self.row.format(self.lines[row])}"

    def check(self, bad: Any, values: Any, column: str, expected: str) -> None:
        """Note the bad rows as faults, or if `strict` raise `InputError` for the first one."""
        if self.strict:
            refuse(bad, values, column, self.where, expected)
        for row in np.flatnonzero(bad):
            fault = f"{printable(column)} is not {printable(expected)}", shown(values[row])
            self.faults.setdefault(int(self.lines[row]), fault)

    def take(self, rows: BoolArray) -> Table:
        """Keep these rows."""
        return replace(self, columns={c: v[rows] for c, v in self.columns.items()}, lines=self.lines[rows])

    def require(self, names: Sequence[str]) -> Table:
        """Return the table, or raise `InputError` for the first of these columns that is missing."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(map(printable, self.columns))
                raise InputError(f"{self.path}, line 1: column {name!r} is missing; found {found}")
        return self

    def words(self, column: str) -> TextArray:
        """Return a column of text without surrounding blanks."""
        return np.array([v.strip() for v in self.columns[column]], dtype=object)

    def text(self, column: str) -> TextArray:
        """Return a column of names; empty ones are faults."""
        values = self.words(column)
        self.check(values == "", values, column, "a name")
        return values

    def number(
        self, column: str, expected: str, good: Callable[[FloatArray], Any], *, empty: float | None = None
    ) -> FloatArray:
        """Return a column of numbers that are `good`, NaN for others; an empty field means `empty`, if given."""
        raw = self.words(column)
        values = np.array([_number(v) for v in raw], dtype=np.float64)
        accepted = good(values) & ~np.isnan(values)
        if empty is not None:
            blank = raw == ""
            values[blank] = empty
            accepted |= blank
        self.check(~accepted, raw, column, expected)
        values[~accepted] = np.nan
        return values

    def demand(self, column: str, *, empty: float | None = None) -> FloatArray:
        """Return a column of GPU counts, 0 included."""
        return self.number(column, *gpus(0), empty=empty)

    def seconds(self, column: str, unit: Unit = (1.0, 1.0), *, empty: float | None = None) -> FloatArray:
        """Return a column of times of at least 0, in seconds."""
        multiply, divide = unit
        most = MAX_TIME * divide / multiply
        return self.number(column, TIME[0], lambda v: (v >= 0) & (v <= most), empty=empty) * multiply / divide


def _number(text: str) -> float:
    """Return a number, exactly rounded, NaN for other text; 1_000, which Python accepts, is not a number in a log."""
    try:
        return float("nan" if "_" in text else text)
    except ValueError:
        return float("nan")


def parse_dates(values: TextArray, column: str, where: Where, absent: Sequence[str] = NO_DATE) -> Any:
    """Parse ``YYYY-MM-DD HH:MM:SS`` as naive times; NaT if marked as absent."""
    series = pd.Series(values, dtype=object)
    times = pd.to_datetime(series, format="%Y-%m-%d %H:%M:%S", errors="coerce")
    refuse((times.isna() & ~series.isin(absent)).to_numpy(), values, column, where, "a time YYYY-MM-DD HH:MM:SS")
    return times.to_numpy(dtype="datetime64[s]")


def to_seconds(span: Any) -> FloatArray:
    """Convert a difference of dates to seconds; NaN if one was missing."""
    return np.asarray(pd.Series(span).dt.total_seconds(), dtype=np.float64)


def read_table(path: Path, headers: Mapping[int, Sequence[str]] | None = None, *, strict: bool = True) -> Table:
    """Read a comma-separated file whose first line names the columns; blank lines do not count.

    With `headers`, read a tab-separated file without such a line; they are the column names, by number of columns.
    """
    text = read_text(path).split("\n")
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: Faults = {}
    for line, row, error in _csv_rows(text, bool(headers)):
        if error and strict:
            raise InputError(f"{path}, line {line}: not a table ({error})")
        if error:
            faults[line] = "is not a row of a table", printable(text[line - 1])
        elif row:
            rows.append(row)
            lines.append(line)
    if not rows:
        raise InputError(f"{path}: there is no job in it")
    if not headers:
        names = [name.strip() for name in rows.pop(0)]
        lines.pop(0)
    elif len(rows[0]) in headers:
        names = list(headers[len(rows[0])])
    else:
        expected = " or ".join(map(str, headers))
        raise InputError(f"{path}, line {lines[0]}: expected {expected} tab-separated columns, got {len(rows[0])}")
    return table_of(path, names, rows, lines, strict, faults)


def _csv_rows(text: Sequence[str], has_tabs: bool) -> Iterator[tuple[int, list[str], str]]:
    """Yield the first line of each row, the row, and its error; each line of a faulty row counts as a row."""
    form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if has_tabs else {"strict": True}
    begin, width = 0, 0
    while begin < len(text):
        reader = csv.reader((text[k] + "\n" for k in range(begin, len(text))), **form)
        done = 0
        try:
            for row in reader:
                width = width or len(row)
                if reader.line_num - done > 1 and len(row) != width:  # several lines by a stray quote
                    break
                yield begin + done + 1, row, ""
                done = reader.line_num
        except csv.Error as err:
            error = str(err)
        else:
            error = "a quote that is not closed"
        begin += done
        if begin < len(text):
            yield begin + 1, [], error
            begin += 1


def table_of(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int], strict: bool, faults: Faults
) -> Table:
    """Make a table from rows of text that start on these lines; `faults` are those of lines that are not rows."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line 1: column {printable(name)!r} appears twice")
    good = [len(row) == len(names) for row in rows]
    for row, line, fits in zip(rows, lines, good, strict=True):
        if not fits and strict:
            raise InputError(f"{path}, line {line}: expected {len(names)} columns, got {len(row)}")
        if not fits:
            faults[line] = WIDTH, f"{len(row)}, not {len(names)}"
    if not rows and not faults:
        raise InputError(f"{path}: there is no job in it")
    columns = zip(*compress(rows, good), strict=True) if any(good) else ((),) * len(names)
    table = {name: np.array(values, dtype=object) for name, values in zip(names, columns, strict=True)}
    return Table(path, table, np.array([*compress(lines, good)], dtype=np.int64), strict, faults)
