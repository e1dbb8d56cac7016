"""The page that shows every figure next to what the paper says, with the verdicts of its statements."""

from __future__ import annotations

import platform
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

import astraea
from astraea.core.files import write_atomically
from astraea.reports.claims.evaluate import counts, evaluate, with_reasons
from astraea.studies.scales import seeds
from astraea.traces.synthetic import SYNTHETIC

_MARKS: Final = {"holds": "✓", "holds in direction": "≈", "does not hold": "✗", "not yet": "–"}
_PACKAGES: Final = ("numpy", "scipy", "highspy", "pandas", "numba", "matplotlib")


class Entry(NamedTuple):
    """A figure: what it shows, what the paper says of it, and how the identifiers of its statements begin."""

    id: str
    title: str
    paper: str
    claims: tuple[str, ...]


_captions: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("captions.toml").read_text("utf-8"))

FURTHER: Final[dict[str, str]] = _captions.pop("further")
"""Figures that the papers do not have, and what they show."""

PAPERS: Final = {
    paper: tuple(Entry(id, e["title"], e["paper"], tuple(e["claims"])) for id, e in entries.items())
    for paper, entries in _captions.items()
}
"""Every figure of a paper that is reproduced, in the order of the paper."""


def write_gallery(folder: Path, command: str, scale: str) -> Path:
    """Write ``README.md`` into a folder of figures: the same files give the same page.

    Parameters
    ----------
    folder : path
        Where ``<id>_<trace>.png`` and ``.csv`` are.
    command, scale : str
        What made them.

    Returns
    -------
    Path
        The page.
    """
    claims = evaluate(folder)
    if scale != "small":
        claims = with_reasons(claims)
    sentences = counts(claims)
    claims["verdict"] = claims["verdict"].map(lambda verdict: f"{_MARKS[verdict]} {verdict}")
    page = "\n".join(
        [
            "# Figures",
            "",
            f"Made by `{command}`. Each picture is there as PNG and SVG, with the numbers behind it as CSV.",
            "✓ holds, ≈ holds in direction, ✗ does not hold, – not yet: the rules are in `astraea/reports/claims/`.",
            "",
            *(line for sentence in sentences for line in (f"**{sentence}**", "")),
            *(line for entry in _shown(folder) for line in _section(folder, entry, claims)),
            *_further(folder),
            "## All statements",
            "",
            *markdown(claims),
            "",
            "## Provenance",
            "",
            _provenance(folder, scale),
            "",
        ]
    )
    path = folder / "README.md"
    write_atomically(path, page)
    return path


def _shown(folder: Path) -> list[Entry]:
    """The figures of the first paper, and those of each other one of which there is anything."""
    first, *others = PAPERS.values()
    there = [entries for entries in others if any(path for e in entries for path in folder.glob(f"{e.id}*_*.csv"))]
    return [entry for entries in (first, *there) for entry in entries]


def _section(folder: Path, entry: Entry, claims: pd.DataFrame) -> list[str]:
    """One figure, for every trace that has it."""
    pictures = sorted(folder.glob(f"{entry.id}*_*.png"), key=_trace_order)
    # a table of the paper, and not the numbers behind a picture
    tables = [] if pictures else sorted(folder.glob(f"{entry.id}_*.csv"), key=_trace_order)
    write = _shares if entry.id == "table1" else _rounded
    lines = [f"## {entry.title}", "", f"*The paper:* {entry.paper}", ""]
    lines += [line for path in pictures for line in (_picture(path), "")]
    lines += [line for path in tables for line in (f"`{path.name}`", "", *markdown(write(pd.read_csv(path))), "")]
    if not pictures and not tables:
        lines += ["Not there yet.", ""]
    mine = claims[claims["id"].str.startswith(entry.claims)]
    return lines if mine.empty else [*lines, *markdown(mine.drop(columns=["id", "where"])), ""]


def _picture(path: Path) -> str:
    base = path.stem
    return f"![{base}]({path.name})<br>[SVG]({base}.svg), [CSV]({base}.csv)"


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for a person: mean over trials, four digits."""
    keys = [c for c in frame if c in ("tenants", "scheduler")]
    if "trial" in frame and keys:
        frame = frame.groupby(keys, sort=False).mean(numeric_only=True).drop(columns="trial").reset_index()
    return frame.map(lambda x: f"{x:.4g}" if isinstance(x, float) else x).replace("nan", "")


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1 for a person: mean over seeds."""
    limits = {600: "10 min", 3600: "1 h", 21_600: "6 h", 86_400: "1 d", 518_400: "6 d"}
    share = 100 * frame.groupby("limit")["share"].mean()
    cells = {f"< {limits.get(int(k), f'{k:g} s')}": f"{v:.1f} %" for k, v in share.items()}  # type: ignore[call-overload]
    return pd.DataFrame([{"running time": "share of jobs", **cells}])


def _further(folder: Path) -> list[str]:
    """Pictures that belong to no figure of the paper."""
    known = tuple(entry.id for entries in PAPERS.values() for entry in entries)
    found = [p for p in folder.glob("*.png") if not p.name.startswith(known)]
    lines = []
    for id in [*FURTHER, *sorted({p.stem.partition("_")[0] for p in found} - set(FURTHER))]:
        pictures = sorted((p for p in found if p.stem.partition("_")[0] == id), key=_trace_order)
        if pictures:
            lines += [FURTHER.get(id, id), "", *(line for p in pictures for line in (_picture(p), ""))]
    return ["## Further figures", "", *lines] if lines else []


def _trace_order(path: Path) -> tuple[int, str]:
    trace = path.stem.partition("_")[2]
    return (SYNTHETIC.index(trace) if trace in SYNTHETIC else len(SYNTHETIC), trace)


def markdown(frame: pd.DataFrame) -> list[str]:
    """A table in Markdown, line by line."""
    rows = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def _provenance(folder: Path, scale: str) -> str:
    """What somebody needs to get the same bytes again, and which traces beside the synthetic ones are real."""
    numbers = " and ".join(f"{len(seeds(trace, scale))} of {trace}" for trace in SYNTHETIC)
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    text = (
        f"Astraea {astraea.__version__}, Python {platform.python_version()}, {packages}. Scale `{scale}`: seeds 0, 1, "
        f"... of the synthetic traces, {numbers}; one run of a real one."
    )
    traces = {path.stem.partition("_")[2] for path in folder.glob("fig01_*.csv")}
    real = sorted(traces - set(SYNTHETIC))
    if not real or len(real) == len(traces):
        return text
    return (  # their files were put there by hand
        f"{text} Of {' and '.join(real)}, a real workload, the figures are copies of what `make figures TRACE=` made "
        "of it; its rows are measured on them like all others."
    )
