"""One figure on a page: what the paper says, what came out, the pictures, the verdicts, and what made them."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, notebooks
from papers.claims.checks import STATEMENTS
from papers.claims.filled import NotMade, fill
from papers.gallery.captions import FURTHER, PAGE, TRACES, Entry, is_real
from papers.gallery.tables import markdown, written_out
from papers.gallery.verdicts import finding, side_by_side, with_footnotes

WIDTH: Final = 640
"""Width of a picture on a page [pixels]: one trace a row, so that its letters can be read."""


def trace_of(path: Path) -> str:
    """The trace in the name of a file, ``<figure>_<trace>.<form>``."""
    return path.stem.partition("_")[2]


def trace_order(path: Path) -> tuple[int, str]:
    """Synthetic traces first, the others by name."""
    trace = trace_of(path)
    return (SYNTHETIC.index(trace) if trace in SYNTHETIC else len(SYNTHETIC), path.name)


def alt(title: str, finding: str, trace: str = "") -> str:
    """Describe a picture as an attribute: the title, the trace if it is one, and what was found."""
    ends = f" ({trace})." if title.endswith("?") else f", {trace}."
    words = f"{title}{ends if trace else '' if title.endswith('?') else '.'} {finding}".replace("`", "")
    return html.escape(" ".join(words.split()), quote=True)


def thumbnail(path: Path, text: str, width: int) -> str:
    """A small picture that leads to the large one; `text` is that of `alt`."""
    name = quote(path.name)
    return f'<a href="{name}"><img src="{name}" width="{width}" alt="{text}"></a>'


def folded(summary: str, lines: Sequence[str], mark: str = "") -> list[str]:
    """Fold lines of Markdown below a summary, which is HTML; `mark` is what a link may lead to."""
    anchor = f'<a id="{mark}"></a>' if mark else ""
    end = [] if lines and not lines[-1] else [""]
    return ["<details>", f"<summary>{anchor}{summary}</summary>", "", *lines, *end, "</details>", ""]


def files(pictures: Sequence[Path], tables: Sequence[Path]) -> str:
    """Links to the numbers of the pictures, in their order, and to further tables."""
    beside = [path.with_suffix(".csv") for path in pictures if path.with_suffix(".csv").exists()]
    others = [path for path in tables if path not in beside]
    return "; ".join(f"[{path.name}]({quote(path.name)})" for path in (*beside, *others))


def repetitions(tables: Iterable[Path]) -> str:
    """Count the seeds or trials behind the numbers in tables, as far as these say so: ``5 seeds of venus``."""
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
    """A folder of figures: its files, the command and scale that made it, every verdict, and the findings."""

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
        """Return true if there is anything of it."""
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
    """One figure, line by line: its first picture, and folded the others, the verdicts and what made it."""
    entry, pictures, tables, claims = figure
    lines = [f'<a id="{entry.id}"></a>', "", f"## {entry.title}", ""]
    lines += [*([_said(made, entry, real), ""] if entry.text else []), *_found(made, figure)]
    if not figure.is_there:
        lines += ["Not there yet.", ""]
    pages = [thumbnail(path, _alt(made, figure, path, real), WIDTH) for path in pictures]
    lines += [*pages[:1], ""] if pages else []
    more = [_filled(entry, text) for text in (entry.more, entry.recorded if real else "") if text]
    below = [line for text in (*more, *pages[1:]) for line in (text, "")]
    if pictures:
        below += [files(pictures, tables), ""]
    else:  # a table of the paper, and not the numbers behind a picture
        for path in tables:
            lines += [files([], [path]), "", *written_out(entry.id, pd.read_csv(path)), ""]
    if not claims.empty:
        table, notes = with_footnotes(side_by_side(claims))
        below += [*markdown(table), "", *notes, *([""] if notes else [])]
    below += _origin(made, figure, real)
    return [*lines, *(folded(_below(pictures, claims, more), below) if below else [])]


def _below(pictures: Sequence[Path], claims: pd.DataFrame, more: Sequence[str]) -> str:
    """Name what is folded below the first picture of a figure."""
    traces = list(dict.fromkeys(map(trace_of, pictures[1:])))
    others = f"also {' and '.join(traces)}" if traces and traces != [trace_of(pictures[0])] else ""
    many = len(pictures) - 1
    panels = "" if others or many < 1 else f"{many} more picture{'s' if many > 1 else ''}"
    verdicts = f"{len(claims)} verdict{'s' if len(claims) > 1 else ''}" if len(claims) else ""
    explained = "more about it" if more else ""
    words = ", ".join(x for x in (explained, others, panels, verdicts, "numbers, what made it") if x)
    return html.escape(words[:1].upper() + words[1:], quote=False)


def _filled(entry: Entry, text: str) -> str:
    """Fill in what is said of a figure on every trace; its numbers are of tables that the committed figures have."""
    return " ".join(fill(text, f"papers/gallery/captions, {entry.id}").split())


def _said(made: Made, entry: Entry, real: bool) -> str:
    """Return what the paper says, or what a figure of ours shows, and what to look at.

    The page of real workloads has a link to the same figure of the synthetic traces, if there is one.
    """
    look = f" *Look at:* {_filled(entry, entry.look)}" if entry.look else ""
    others = (path.stem.partition("_")[::2] for path in made.files if path.suffix == ".png")
    if real and any(entry.has(name) and not is_real(entry, trace) for name, trace in others):
        return f"[What it shows]({PAGE[entry.id]}.md#{entry.id}).{look}"
    text = _filled(entry, entry.text)
    return (text if PAGE[entry.id] in FURTHER else f"*The paper:* {text}") + look


def _found(made: Made, figure: Shown) -> list[str]:
    """Return what came out: verdicts on statements of a paper, or of a further figure what its own table says.

    A further figure has links to the findings whose evidence it is.
    """
    if PAGE[figure.entry.id] not in FURTHER:
        found = finding(figure.claims)
        return [f"*{'A statement' if found.startswith('“') else 'Here'}:* {found}", ""] if found else []
    own = _on(made, figure.entry, trace_of(figure.pictures[0])) if figure.pictures else ""
    said = rf"^(\d+)\. .*figure `{re.escape(figure.entry.id)}`"
    links = [f"[finding {k}](README.md#finding-{k})" for k in re.findall(said, made.findings, re.MULTILINE)]
    here = [f"*Here:* {own}"] * bool(own) + [f"See {' and '.join(links)}."] * bool(links)
    return [" ".join(here), ""] if here else []


def _on(made: Made, entry: Entry, trace: str) -> str:
    """Say what came out of a figure on one trace of the evaluation; nothing at the size of a try, or without tables."""
    if not entry.found or made.scale == "small" or trace not in TRACES:
        return ""
    try:
        text = fill(entry.found, f"papers/gallery/captions, {entry.id}, {trace}", trace=trace, on=TRACES[trace])
    except InputError as err:
        if not isinstance(err.__cause__, NotMade):
            raise
        return ""
    return " ".join(text.split())


def _alt(made: Made, figure: Shown, path: Path, real: bool) -> str:
    """Words for one picture: what was found on its own trace, or what the figure shows if no statement is about it.

    Of several panels, each has the statements on its own table, if there are any, or words of its own.
    """
    trace, name = trace_of(path), path.stem.partition("_")[0]
    places = [(check.on, check.table) if (check := STATEMENTS.get(id)) else ("", "") for id in figure.claims["id"]]
    of = TRACES.get(trace, trace if is_real(figure.entry, trace) else "")
    on, table = (np.array([place[k] for place in places], dtype=object) for k in (0, 1))
    mine = (figure.claims["trace"].to_numpy() == trace) | (on == trace)
    is_panel = (table == name) & (name != figure.entry.id)
    of_trace = figure.claims[mine & is_panel if is_panel.any() else mine]
    if len(of_trace):
        return alt(figure.entry.title, finding(of_trace).replace("*", ""), of)
    if own := _on(made, figure.entry, trace):
        return alt(figure.entry.title, own.replace("*", ""))
    if words := figure.entry.panels.get(name.removeprefix(figure.entry.id)):
        return alt(f"{figure.entry.title} ({name[-1]})", words)
    text = f"The paper has no statement on this trace. {_filled(figure.entry, figure.entry.look)}"
    said = _said(made, figure.entry, real=False).replace("*", "")
    return alt(figure.entry.title, text if len(figure.claims) else said, of)


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
    if time := _time(notebook):
        command += f" ({time} at `SCALE=small`)"
    many = "one run of each" if real else entry.seeds or repetitions(figure.tables)
    scale = f"scale `{made.scale}`{f', {many}' if many else ''}"
    place = made.path_to(notebooks()[notebook].relative_to(ROOT).as_posix())
    return [f"*Made by* notebook [{notebook}]({place}); {code}; {command}; {scale}.", ""]


@cache
def _time(notebook: str) -> str:
    """Return the time that a notebook says it takes to run, or nothing."""
    text = notebooks()[notebook].read_text(encoding="utf-8")
    found = re.search(r"\*\*Time\*\* .*? to read, ([\w ]+?) to run", text)
    return found[1] if found else ""
