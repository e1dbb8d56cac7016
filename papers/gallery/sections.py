"""One figure on a page: what the paper says, what came out, the pictures, the verdicts, and what made them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from papers import ROOT
from papers.gallery import pictures as drawn
from papers.gallery.captions import ENTRIES, Entry, is_real
from papers.gallery.tables import markdown, written_out
from papers.gallery.verdicts import finding, side_by_side, with_footnotes


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
    mine = [p for p in made.files if entry.has(p.stem.partition("_")[0]) and is_real(entry, drawn.trace_of(p)) == real]
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
        lines += [*drawn.thumbnails(pictures, (_alt(figure, path) for path in pictures)), ""]
        lines += [drawn.files(pictures, tables), ""]
    else:  # a table of the paper, and not the numbers behind a picture
        for path in tables:
            text = written_out(entry.id, pd.read_csv(path))
            lines += [drawn.files([], [path]), "", *text, ""]
    if not figure.is_there:
        lines += ["Not there yet.", ""]
    if not claims.empty:
        table, notes = with_footnotes(side_by_side(claims))
        lines += [*markdown(table), "", *notes, *([""] if notes else [])]
    return [*lines, *_origin(made, figure, real)]


def _said(entry: Entry) -> str:
    """What the paper says, or what a figure shows that no paper has."""
    return entry.text if entry in ENTRIES["further"] else f"*The paper:* {entry.text}"


def _found(made: Made, figure: Shown) -> list[str]:
    """What came out: of the statements of a paper, or in which of the findings a further figure is named."""
    if figure.entry not in ENTRIES["further"]:
        return [f"*Here:* {finding(figure.claims) or 'no statement is checked.'}", ""] if figure.entry.code else []
    named = re.findall(rf"^(\d+)\. .*figure `{re.escape(figure.entry.id)}`", made.findings, re.MULTILINE)
    many = "s" if len(named) > 1 else ""
    return [f"*Here:* finding{many} {' and '.join(named)} of the [first page](README.md).", ""] if named else []


def _alt(figure: Shown, path: Path) -> str:
    """Words for one picture: what was found on its trace, or on all, or what the figure shows."""
    trace = drawn.trace_of(path)
    of_trace = figure.claims[figure.claims["trace"] == trace]
    text = finding(of_trace if len(of_trace) else figure.claims) or _said(figure.entry).replace("*", "")
    return drawn.alt(figure.entry.title, text, trace)


def _origin(made: Made, figure: Shown, real: bool) -> list[str]:
    """What made a figure, in a line."""
    entry = figure.entry
    if not entry.code or not figure.is_there:
        return []
    parts = []
    if entry.notebook:
        parts.append(f"notebook [{entry.notebook}]({made.path_to(f'notebooks/{entry.notebook}.ipynb')})")
    parts += [f"code [{entry.code}]({made.path_to(entry.code)})", _command(made, figure, real)]
    many = "one run of each" if real else entry.seeds or drawn.repetitions(figure.tables)
    parts.append(f"scale `{made.scale}`{f', {many}' if many else ''}" if entry.notebook else "the authors' traces")
    return [f"*Made by* {'; '.join(parts)}.", ""]


def _command(made: Made, figure: Shown, real: bool) -> str:
    notebook = figure.entry.notebook
    if not notebook:
        return "`make verify`"
    if not real or "TRACE=" in made.command:
        return f"`{made.command} ONLY={notebook}`"
    traces = dict.fromkeys(drawn.trace_of(path) for path in (*figure.pictures, *figure.tables))
    return f"`make real`, or into `build/` `make figures TRACE={next(iter(traces))} ONLY={notebook}`"


def contents(figures: Iterable[Shown]) -> list[str]:
    """A list of the figures of a page."""
    return [*(f"- [{figure.entry.title}](#{figure.entry.id})" for figure in figures), ""]
