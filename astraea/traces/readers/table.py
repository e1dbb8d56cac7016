"""What the readers share: a table of text that knows the line of every row; checked rows, and the trace of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import BoolArray, FloatArray, TextArray
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import MAX_TIME, POSITIVE, STATES, TIME, gpus, refuse
from astraea.traces.trace import Trace

NO_GPU: Final = "asks for 0 GPUs"
NO_TIME: Final = "ran for 0 s"
_TEXT: Final = ("job_id", "tenant", "user", "state", "reason")

#: how public logs write a time that does not exist
NO_DATE: Final = ("", "None", "NaT", "nan", "null", "NULL")

DateArray = npt.NDArray[np.datetime64]

Unit = tuple[float, float]
"""Of time: (multiply, divide) to get seconds."""



def read_text(path: Path) -> str:
    """Return the whole file as text (UTF-8, packed with gzip or not), or raise `InputError`."""
    with _opened(path) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return text


def read_start(path: Path) -> str:
    """Return the lines up to the first that is neither blank nor a comment (``;``), or raise `InputError`.

    Of a longer line, the first 64 Ki characters: a large log is recognised without being read.
    """
    text = ""
    with _opened(path) as file:
        while line := file.readline(1 << 16):
            text += line
            if line.strip() and line.lstrip()[0] != ";":
                break
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return text


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open a file as text whose line ends stay; raise `InputError` where it is none."""
    try:
        with path.open("rb") as file:
            source = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file
            yield io.TextIOWrapper(source, encoding="utf-8-sig", newline="\n")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as err:
        raise InputError(f"{path}: the gzip file is damaged ({err})") from None
    except UnicodeDecodeError as err:
        raise InputError(f"{path}: not a text file, byte {err.start} is not UTF-8") from None
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror})") from None


def read_json(path: Path, text: str | None = None) -> Any:
    """Return what a JSON file holds, or raise `InputError`; `text` is its content where that was read already."""
    try:
        return json.loads(read_text(path) if text is None else text)
    except json.JSONDecodeError as err:
        raise InputError(f"{path}, line {err.lineno}: not JSON ({err.msg}, column {err.colno})") from None
    except (RecursionError, ValueError) as err:
        raise InputError(f"{path}: not JSON that can be read ({err})") from None


@dataclass(frozen=True)
class Table:
    """Named columns of text, and the line of the file that each row starts on."""

    path: Path
    columns: dict[str, TextArray]
    lines: npt.NDArray[np.int64]
    row: ClassVar[str] = "line {}"

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def where(self) -> list[str]:
        """Place of each row, for messages."""
        return [f"{self.path}, {self.row.format(n)}" for n in self.lines]

    def take(self, rows: BoolArray) -> Table:
        """Keep these rows."""
        return Table(self.path, {c: v[rows] for c, v in self.columns.items()}, self.lines[rows])

    def require(self, names: Sequence[str]) -> None:
        """Raise `InputError` for the first of these columns that is missing."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(map(printable, self.columns))
                raise InputError(f"{self.path}, line 1: column {name!r} is missing; found {found}")

    def words(self, column: str) -> TextArray:
        """Read a column of text without the blanks around it."""
        return np.array([v.strip() for v in self.columns[column]], dtype=object)

    def text(self, column: str) -> TextArray:
        """Read a column of names; empty ones are refused."""
        values = self.words(column)
        refuse(values == "", values, column, self.where, "a name")
        return values

    def number(
        self, column: str, expected: str, good: Callable[[FloatArray], Any], *, empty: float | None = None
    ) -> FloatArray:
        """Read a column of numbers that are all `good`; `empty`, if given, is what an empty field means."""
        raw = self.words(column)
        values = np.array([_number(v) for v in raw], dtype=np.float64)
        accepted = good(values) & ~np.isnan(values)
        if empty is not None:
            blank = raw == ""
            values[blank] = empty
            accepted |= blank
        refuse(~accepted, raw, column, self.where, expected)
        return values

    def demand(self, column: str, *, empty: float | None = None) -> FloatArray:
        """Read a column of GPU counts, 0 included."""
        return self.number(column, *gpus(0), empty=empty)

    def seconds(self, column: str, unit: Unit = (1.0, 1.0), *, empty: float | None = None) -> FloatArray:
        """Read a column of times of at least 0 and turn it into seconds."""
        multiply, divide = unit
        most = MAX_TIME * divide / multiply
        return self.number(column, TIME[0], lambda v: (v >= 0) & (v <= most), empty=empty) * multiply / divide


def _number(text: str) -> float:
    """Read a number, exactly rounded, NaN where it is none; Python takes 1_000 for one, but no log means it."""
    try:
        return float("nan" if "_" in text else text)
    except ValueError:
        return float("nan")


def parse_dates(values: TextArray, column: str, where: list[str], absent: Sequence[str] = NO_DATE) -> DateArray:
    """Read ``YYYY-MM-DD HH:MM:SS`` as naive times; NaT for what says that there is none."""
    series = pd.Series(values, dtype=object)
    times = pd.to_datetime(series, format="%Y-%m-%d %H:%M:%S", errors="coerce")
    refuse((times.isna() & ~series.isin(absent)).to_numpy(), values, column, where, "a time YYYY-MM-DD HH:MM:SS")
    return times.to_numpy(dtype="datetime64[s]")


def to_seconds(span: Any) -> FloatArray:
    """Turn a difference of dates into seconds; NaN where one was missing."""
    return np.asarray(pd.Series(span).dt.total_seconds(), dtype=np.float64)


def read_table(path: Path, headers: Mapping[int, Sequence[str]] | None = None) -> Table:
    """Read a comma-separated file whose first line names the columns; blank lines do not count.

    With `headers`, one with tabs and without such a line: these are the names of the columns, by their number.
    """
    source = io.StringIO(read_text(path), newline="")
    reader = csv.reader(source, delimiter="\t", quoting=csv.QUOTE_NONE) if headers else csv.reader(source, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as err:
        raise InputError(f"{path}, line {line}: not a table ({err})") from None
    if not headers:
        names = [name.strip() for name in rows.pop(0)]
        lines.pop(0)
    elif len(rows[0]) in headers:
        names = list(headers[len(rows[0])])
    else:
        expected = " or ".join(map(str, headers))
        raise InputError(f"{path}, line {lines[0]}: expected {expected} columns with tabs between, got {len(rows[0])}")
    return table_of(path, names, rows, lines)


def table_of(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int], if_longer: str = ""
) -> Table:
    """Make a table of rows of text that start on these lines; `if_longer` is added to the sentence for a longer one."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line 1: column {printable(name)!r} is there twice")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            hint = if_longer if len(row) > len(names) else ""
            raise InputError(f"{path}, line {line}: expected {len(names)} columns, got {len(row)}{hint}")
    if not rows:
        raise InputError(f"{path}: there is no job in it")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return Table(path, {name: np.array(values, dtype=object) for name, values in columns}, np.array(lines))


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Make a table of rows for `assemble`; text stays Python text, which is quicker to walk than Arrow's."""
    return pd.DataFrame({c: pd.Series(v, dtype=object) if c in _TEXT else v for c, v in columns.items()})


def reasons(n: int, *rules: tuple[Any, str]) -> TextArray:
    """Why each row is set aside: the first rule that is true for it, ``""`` for a job."""
    out = np.full(n, "", dtype=object)
    for applies, reason in reversed(rules):
        out[np.asarray(applies)] = reason
    return out


class Rows(NamedTuple):
    """What a reader found: columns of `Trace.from_frame` with `reason` (empty for a job), and the places.

    `origin`, `recorded` and `details` are as in `Trace`, `id_column` is what the source calls `job_id`, and `aside` are
    the columns that are kept of the rows that are set aside.
    """

    frame: pd.DataFrame
    where: list[str]
    origin: pd.Timestamp | None = None
    id_column: str = "job_id"
    recorded: pd.DataFrame | None = None
    aside: Sequence[str] = ("job_id", "reason")
    details: pd.DataFrame | None = None


def tenant_of(path: Path, *endings: str) -> str:
    """Name a tenant after its file, without these endings and that of gzip."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in endings if name.endswith(end)), name) or path.name


def read_shares(source: str | Path | Mapping[str, float] | None) -> dict[str, float] | None:
    """Tenant weights from a mapping, or a share file: tenant and weight below a header, whose words do not matter."""
    if source is None or isinstance(source, Mapping):
        return None if source is None else dict(source)
    table = read_table(Path(source))
    if len(table.columns) != 2:
        found = ", ".join(map(printable, table.columns))
        raise InputError(f"{source}, line 1: a share file has two columns, tenant and weight; found {found}")
    name_column, share_column = table.columns
    names = table.text(name_column)
    refuse(pd.Series(names).duplicated(), names, name_column, table.where, "unique")
    return dict(zip(names, table.number(share_column, *POSITIVE).tolist(), strict=True))


def assemble(found: Rows, name: str, weights: dict[str, float] | None) -> Trace:
    """Make the trace of checked rows; tenants have equal weights if none are given."""
    rows, where, origin, id_column, recorded, columns, details = found
    ids = rows["job_id"].to_numpy(dtype=object)
    refuse(pd.Series(ids).duplicated(), ids, id_column, where, "unique")
    kept = np.flatnonzero(rows["reason"] == "")
    aside = rows.loc[rows["reason"] != "", list(columns)]
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        raise InputError(f"{name}: none of the {len(rows)} rows is a job that can be simulated ({counts})")
    # where several files make one trace, only some may have these columns
    jobs = rows.drop(columns="reason").iloc[kept].fillna({"weight": 1.0, "sensitivity": 1.0, "state": STATES[0]})
    places = [where[i] for i in kept]
    return Trace.from_frame(
        jobs, name=name, weights=weights, origin=origin, excluded_jobs=aside, recorded=recorded, places=places,
        details=None if details is None else details.iloc[kept],
    )  # fmt: skip
