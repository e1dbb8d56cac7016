"""One figure on a page: what the paper says, what came out, the pictures, the verdicts, and what made them."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import pandas as pd

from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT
from papers.claims.filled import fill
from papers.gallery.captions import ENTRIES, Entry, is_real
from papers.gallery.tables import markdown, written_out
from papers.gallery.verdicts import finding, side_by_side, with_footnotes

WIDTHS: Final = {1: 640, 2: 420}
"""Of so many thumbnails in a row [pixels]; more of them are 280 wide."""


def trace_of(path: Path) -> str:
    """The trace in the name of a file, ``<figure>_<trace>.<form>``."""
    return path.stem.partition("_")[2]


def trace_order(path: Path) -> tuple[int, str]:
    """Synthetic traces first, the others by name."""
    trace = trace_of(path)
    return (SYNTHETIC.index(trace) if trace in SYNTHETIC else len(SYNTHETIC), path.name)


def alt(title: str, finding: str, trace: str = "") -> str:
    """What a picture shows in words, as an attribute takes it: the title, the trace, and what was found."""
    words = f"{title}{f', {trace}' if trace else ''}. {finding}".replace("`", "")
    return html.escape(" ".join(words.split()), quote=True)


def thumbnail(path: Path, text: str, width: int) -> str:
    """A small picture that leads to the large one; `text` is that of `alt`."""
    name = quote(path.name)
    return f'<a href="{name}"><img src="{name}" width="{width}" alt="{text}"></a>'


def files(pictures: Sequence[Path], tables: Sequence[Path]) -> str:
    """Links to the numbers of the pictures, in their order, and to further tables."""
    beside = [path.with_suffix(".csv") for path in pictures if path.with_suffix(".csv").exists()]
    others = [path for path in tables if path not in beside]
    return "; ".join(f"[{path.name}]({quote(path.name)})" for path in (*beside, *others))


def repetitions(tables: Iterable[Path]) -> str:
    """Over how many seeds or trials the numbers in tables go, as far as they say so: ``5 seeds of venus``."""
    found: dict[tuple[str, str], int] = {}
    for path in tables:
        of = f" of {trace_of(path)}" if trace_of(path) in SYNTHETIC else ""
        for column in pd.read_csv(path, nrows=0).columns.intersection(["seed", "trial", "seeds", "instances"]):
            values = pd.read_csv(path, usecols=[column])[column].dropna()
            many = values.nunique() if column in ("seed", "trial") else int(values.max())
            key = (column.removesuffix("s"), of)
            found[key] = max(found.get(key, 0), many)
    return ", ".join(f"{many:,} {what}{'s' if many > 1 else ''}{of}" for (what, of), many in found.items())


class Made(NamedTuple):
    """What made a folder of figures: its files, the command, the scale, every verdict, what was found in words."""

    folder: Path
    files: list[Path]
    command: str
    scale: str
    claims: pd.DataFrame
    findings: str

    def path_to(self, name: str) -> str:
        """A file of the checkout, as a page of the folder links to it."""
        root = os.path.relpath(ROOT, self.folder)
        return f"{Path(root).as_posix()}/{name}"


class Shown(NamedTuple):
    """A figure on one page, with those of its files and verdicts that belong there."""

    entry: Entry
    pictures: list[Path]
    tables: list[Path]
    claims: pd.DataFrame

    @property
    def is_there(self) -> bool:
        """Whether there is anything of it."""
        return bool(self.pictures or self.tables)


def shown(made: Made, entry: Entry, *, real: bool) -> Shown:
    """Gather what a page shows of a figure: real workloads, or everything else."""
    mine = [p for p in made.files if entry.has(p.stem.partition("_")[0]) and is_real(entry, trace_of(p)) == real]
    about = made.claims["id"].str.startswith(entry.claims)
    about &= made.claims["trace"].isin([t for t in made.claims["trace"].unique() if is_real(entry, t) == real])
    return Shown(
        entry, [p for p in mine if p.suffix == ".png"], [p for p in mine if p.suffix == ".csv"], made.claims[about]
    )


def section(made: Made, figure: Shown, *, real: bool) -> list[str]:
    """One figure, line by line; `real` on the page of real workloads."""
    entry, pictures, tables, claims = figure
    lines = [f'<a id="{entry.id}"></a>', "", f"## {entry.title}", ""]
    lines += [*([_said(entry), ""] if entry.text else []), *_found(made, figure)]
    if pictures:
        width = WIDTHS.get(len(pictures), 280)
        lines += [*(thumbnail(path, _alt(figure, path), width) for path in pictures), ""]
        lines += [files(pictures, tables), ""]
    else:  # a table of the paper, and not the numbers behind a picture
        for path in tables:
            text = written_out(entry.id, pd.read_csv(path))
            lines += [files([], [path]), "", *text, ""]
    if not figure.is_there:
        lines += ["Not there yet.", ""]
    if not claims.empty:
        table, notes = with_footnotes(side_by_side(claims))
        lines += [*markdown(table), "", *notes, *([""] if notes else [])]
    return [*lines, *_origin(made, figure, real)]


def _said(entry: Entry) -> str:
    """What the paper says, or what a figure shows that no paper has."""
    text = fill(entry.text, f"papers/gallery/captions, {entry.id}")
    return text if entry in ENTRIES["further"] else f"*The paper:* {text}"


def _found(made: Made, figure: Shown) -> list[str]:
    """What came out: of the statements of a paper, or in which of the findings a further figure is named."""
    if figure.entry not in ENTRIES["further"]:
        return [f"*Here:* {finding(figure.claims) or 'no statement is checked.'}", ""] if figure.entry.code else []
    named = re.findall(rf"^(\d+)\. .*figure `{re.escape(figure.entry.id)}`", made.findings, re.MULTILINE)
    many = "s" if len(named) > 1 else ""
    return [f"*Here:* finding{many} {' and '.join(named)} of the [first page](README.md).", ""] if named else []


def _alt(figure: Shown, path: Path) -> str:
    """Words for one picture: what was found on its trace, or on all, or what the figure shows."""
    trace = trace_of(path)
    of_trace = figure.claims[figure.claims["trace"] == trace]
    text = finding(of_trace if len(of_trace) else figure.claims) or _said(figure.entry).replace("*", "")
    return alt(figure.entry.title, text, trace)


def _origin(made: Made, figure: Shown, real: bool) -> list[str]:
    entry = figure.entry
    if not entry.code or not figure.is_there:
        return []
    code, notebook = f"code [{entry.code}]({made.path_to(entry.code)})", entry.notebook
    if not notebook:
        return [f"*Made by* {code}; `make verify`; the authors' traces.", ""]
    command = f"`{made.command} ONLY={notebook}`"
    if real and "TRACE=" not in made.command:
        trace = trace_of([*figure.pictures, *figure.tables][0])
        command = f"`make real`, or into `build/` `make figures TRACE={trace} ONLY={notebook}`"
    many = "one run of each" if real else entry.seeds or repetitions(figure.tables)
    scale = f"scale `{made.scale}`{f', {many}' if many else ''}"
    place = made.path_to(f"notebooks/{notebook}.ipynb")
    return [f"*Made by* notebook [{notebook}]({place}); {code}; {command}; {scale}.", ""]
