"""Readers of public trace formats, one file each; `read_trace` is the entry point.

A reader makes `rows.Rows` from a file. To add one for a public log that is a single CSV file, name it in `HEADERS` and
`READERS` of `published`. Name any other one in `FORMATS`, `read_trace` and `recognise`, and in `_ENDINGS` if a folder
may have one file per tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.core.plugins import added, refuse_missing
from astraea.traces.readers import gavel, helios, philly, published, swf, tiresias_csv
from astraea.traces.readers.rows import Format, Rows, assemble, tenant_of
from astraea.traces.readers.shares import read_shares
from astraea.traces.readers.table import read_start
from astraea.traces.trace import Trace

__all__ = ["FORMATS", "TIME_UNITS", "formats", "read_trace"]

FORMATS: Final = ("tiresias-csv", "helios", "philly", "gavel", "swf", *published.READERS)
"""Formats of this package; installed packages add more (`formats`)."""

TIME_UNITS: Final = tuple(tiresias_csv.UNITS)

#: endings of file names in a folder, for formats with one file per tenant
_ENDINGS: Final = {"tiresias-csv": (".csv", ".csv.gz"), "gavel": (".trace", ".trace.gz", ".tsv", ".tsv.gz")}


def formats() -> tuple[str, ...]:
    """Return the names of all formats: this package's, then those of installed packages."""
    return *FORMATS, *_added()


def _added() -> dict[str, Format]:
    return added("astraea.formats")


def read_trace(
    path: str | Path,
    format: str | None = None,
    time_unit: str | None = None,
    weights: str | Path | Mapping[str, float] | None = None,
    name: str | None = None,
    throughputs: str | Path | None = None,
    tenant: str | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    resource: str | None = None,
    strict: bool = False,
) -> Trace:
    """Read a workload.

    Parameters
    ----------
    path : path
        A file, possibly gzip-compressed; a folder of one Helios cluster, of the Philly trace or of Kestrel's Parquet
        files; or a folder of CSV or Gavel files, one per tenant.
    format : str, optional
        One of `formats`; detected from the content by default.
    time_unit : {"ms", "s", "min"}, optional
        Unit of `submit_time` and `duration` in ``tiresias-csv``; required if the header does not imply it. Overrides
        the header.
    weights : path or mapping, optional
        Tenant weights: a share file with a header (tenant, weight, possibly a tree, see `shares.read_shares`), the
        output of ``sshare -P -a``, or a mapping. It must contain every tenant of the trace.
    name : str, optional
        Name of the trace; by default that of the file or folder.
    throughputs : path, optional
        Gavel's `simulation_throughputs.json`; by default the one beside the trace.
    tenant : str, optional
        Field that names the tenants of a log: for ``slurm`` "account" (default), "top-account", "user", "partition" or
        "qos"; for ``swf`` "group" (default), "user", "queue" or "partition". `top-account`: the accounts right below
        the root, with all jobs below them; the tree comes from `weights`, the output of ``sshare``.
    columns : mapping or sequence, optional
        For a CSV file with other column names: its name for each of `tiresias_csv.NAMES` that it has. For a Slurm log
        without a header line: the names of all its columns, as given to ``sacct --format``.
    resource : str, optional
        The resource of a Slurm log that counts as GPUs: ``gres/gpu``, ``gres/gpu:a100``, ``cpu``, ``node``,
        ``billing`` or any other countable resource of `AllocTRES`.
    strict : bool, optional
        If true, the first row that cannot be read is an error; otherwise such rows are excluded (`Trace.unreadable`).
        For ``helios``, ``philly`` and ``gavel`` it is always an error.

    Raises
    ------
    InputError
        One sentence with the file, line, column, value and what is expected.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if format is not None:
        refuse_missing("astraea.formats", format)
        one_of(format, formats(), "format")
    if time_unit is not None:
        one_of(time_unit, TIME_UNITS, "time unit")
    named = "tiresias-csv" if isinstance(columns, Mapping) else "slurm"
    if columns:
        refuse_missing("astraea.formats", named)
    chosen = format or (named if columns else recognise(path))
    form = "OURS=THEIRS,..." if named == "tiresias-csv" else "NAME,NAME,..."
    for option, is_given, those in (
        ("time_unit", time_unit is not None, ["tiresias-csv"]), ("throughputs", throughputs is not None, ["gavel"]),
        ("tenant", tenant is not None, ["slurm", "swf"]), ("resource", resource is not None, ["slurm"]),
        (f"columns as {form}", columns, [named]),
    ):  # fmt: skip
        if is_given and chosen not in those:
            says = f"{option} can be given for the format {' or '.join(those)} only; this file is {chosen}"
            raise InputError(f"{path}: {says}")
    if chosen in _added():
        rows, shares = _added()[chosen].read(path, tenant, weights, resource, tuple(columns or ()), strict)
    else:
        shares = read_shares(weights)
    if chosen == "helios":
        rows, shares = helios.read_helios(path, shares)
    elif chosen == "philly":
        rows = philly.read_philly(path)
    elif chosen == "gavel":
        speeds = gavel.read_speeds(path, throughputs)
        rows = _by_tenant(path, chosen, partial(gavel.read_gavel, speeds=speeds))
    elif chosen == "tiresias-csv":
        names = columns if isinstance(columns, Mapping) else {}
        read = partial(tiresias_csv.read_tiresias_csv, time_unit=time_unit, names=names, strict=strict)
        rows = _by_tenant(path, chosen, read)
    elif chosen == "swf":
        rows = swf.read_swf(path, tenant or "group", strict)
    elif chosen in published.READERS:
        rows = published.READERS[chosen](path, strict)
    whole = path.resolve().name
    own = whole if path.is_dir() else Path(whole.removesuffix(".gz")).stem
    return assemble(rows, name or own or "trace", shares, strict or chosen in ("helios", "philly", "gavel"))


def _by_tenant(path: Path, format: str, read: Callable[[Path, str, bool], Rows]) -> Rows:
    """Read a file, or those of a folder in order of name; each is one tenant, named as the file; all share a clock."""
    endings = _ENDINGS[format]
    files = sorted(path / name for name in _inside(path) if name.endswith(endings)) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: the folder has no file whose name ends in {' or '.join(endings)}")
    parts = [read(file, tenant_of(file, *endings), len(files) > 1) for file in files]
    if len(parts) == 1:
        return parts[0]
    rest = [p.unreadable for p in parts if p.unreadable is not None]
    places = [(p, row) for p in parts for row in range(len(p.frame))]
    return Rows(
        pd.concat([p.frame for p in parts], ignore_index=True), lambda row: places[row][0].where(places[row][1]),
        unreadable=pd.concat(rest, ignore_index=True) if rest else None,
    )  # fmt: skip


def _inside(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.is_file() and file.name[0] != "."]


def recognise(path: Path) -> str:
    """Find the one format that fits a file or folder by its names and columns; `InputError` if none or several fit."""
    if path.is_dir():
        names = _inside(path)
        fits = {"helios": helios.LOG in names, "philly": philly.LOG in names}
        fits["kestrel"] = next(path.rglob(f"*{published.PARQUET}"), None) is not None
        for known, endings in _ENDINGS.items():
            fits[known] = not fits["helios"] and any(n.endswith(endings) for n in names)
    else:
        text = read_start(path).lstrip()
        line = text.split("\n", 1)[0].rstrip("\r")
        job = next((each.split() for each in text.splitlines() if each.strip() and each.lstrip()[0] != ";"), [])
        header = {c.strip().strip('"') for c in line.split(",")}
        fits = {
            "tiresias-csv": header.issuperset(tiresias_csv.REQUIRED) or tiresias_csv.is_frame(header),
            "helios": header.issuperset(helios.REQUIRED),
            "philly": text[0] == "[",
            "gavel": len(line.split("\t")) in gavel.FORMS,
            "swf": len(job) in swf.WIDTHS and "," not in line and "|" not in line,
            **{form: header.issuperset(columns) for form, columns in published.HEADERS.items()},
            **{form: more.begins(text) for form, more in _added().items()},
        }
    fitting = [known for known, does in fits.items() if does]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and path.is_file():
        read_start(path, "strict")  # it may not be text at all
    found = f"could be {' or '.join(fitting)}" if fitting else "cannot be detected from its content"
    known = f"one of {', '.join(formats())}"
    if "slurm" not in _added():
        known += "; for logs of Slurm, install the package astraea-ops"
    raise InputError(f"{path}: the format {found}; give it with format (--format), {known}")
