"""The page that shows every figure next to what the paper says, with the verdicts of its statements."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

import astraea
from astraea.core.files import project_root, write_atomically
from astraea.reports.claims.evaluate import (
    GIVEN,
    STATEMENTS,
    between_readings,
    counts,
    evaluate,
    read_claims,
    with_reasons,
)
from astraea.studies.scales import seeds
from astraea.studies.ye2022.readings import READINGS
from astraea.traces.synthetic import SYNTHETIC

_MARKS: Final = {"holds": "✓", "holds in direction": "≈", "does not hold": "✗", "not yet": "–"}
FINDINGS: Final = "data/findings.md"
"""What reproduces, what does not, and why, at the evaluation's size."""

SHOWN: Final = 60
"""Letters of a statement beside its mark in that picture."""

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
    findings: list[str] = []
    if scale != "small":
        claims = with_reasons(claims)
        findings = [*(project_root(FINDINGS) / FINDINGS).read_text(encoding="utf-8").splitlines(), ""]
    sentences = counts(claims)
    drawn = beside_published(claims, folder)
    claims["verdict"] = claims["verdict"].map(lambda verdict: f"{_MARKS[verdict]} {verdict}")
    page = "\n".join(
        [
            "# Figures",
            "",
            *findings,
            *((f"![Every published value with ours]({drawn.name})", "") if drawn else ()),
            f"Made by `{command}`. Each picture is there as PNG and SVG, with the numbers behind it as CSV.",
            "✓ holds, ≈ holds in direction, ✗ does not hold, – not yet: the rules are in `astraea/reports/claims/`.",
            "",
            *(line for sentence in sentences for line in (f"**{sentence}**", "")),
            *(line for entry in _shown(folder) for line in _section(folder, entry, claims)),
            *_further(folder),
            "## All statements",
            "",
            *markdown(side_by_side(claims, ["id", "where"])),
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
    write = {"table1": _shares, "generator": _ranges}.get(entry.id, _rounded)
    lines = [f"## {entry.title}", "", f"*The paper:* {entry.paper}", ""]
    lines += [line for path in pictures for line in (_picture(path), "")]
    lines += [line for path in tables for line in (f"`{path.name}`", "", *markdown(write(pd.read_csv(path))), "")]
    if not pictures and not tables:
        lines += ["Not there yet.", ""]
    mine = claims[claims["id"].str.startswith(entry.claims)]
    return lines if mine.empty else [*lines, *markdown(side_by_side(mine)), ""]


def side_by_side(claims: pd.DataFrame, more: Sequence[str] = ()) -> pd.DataFrame:
    """A row for each statement and trace: what was measured with its verdict, in each reading that there is.

    The note has what each reading's note says, and what the difference between the two comes from.
    """
    differences, rows = between_readings(), []
    headings = [reading for reading in READINGS if (claims["reading"] == reading).any()] or ["measured"]
    for (id, _), mine in claims.groupby(["id", "trace"], sort=False):
        row = mine.iloc[0][[*more, "trace", "statement", "paper"]].to_dict() | dict.fromkeys(headings, "")
        found = mine.to_dict("records")
        for each in found:
            row[each["reading"] or headings[-1]] = f"{each['verdict']}: {each['measured']}".removesuffix(": ")
        notes = {each["note"]: each["reading"] for each in reversed(found) if each["note"]}
        texts = [f"{reading}: {note}" if len(found) > 1 else note for note, reading in reversed(notes.items())]
        row["note"] = " / ".join([*texts, *([differences[str(id)]] if id in differences else [])])
        rows.append(row)
    return pd.DataFrame(rows)


def beside_published(claims: pd.DataFrame, folder: Path) -> Path | None:
    """Draw every value that a paper gives with ours, over the published one, both readings; None if there is none."""
    values = read_claims().query("relation == '='").set_index("id")["value"].astype(float)
    values = values[[id for id in values.index if id in STATEMENTS and not STATEMENTS[id].has_many]]
    mine = claims[claims["id"].isin(values.index) & (claims["measured"] != "") & ~claims["id"].str.startswith(GIVEN)]
    ours = mine["measured"].str.extract(r"^([\d.]+)")[0].astype(float)
    ratio = ours / mine["id"].map(values).astype(float)
    frame = mine.assign(ours=ours, ratio=ratio)[ratio > 0]
    if frame.empty:
        return None
    frame = frame[["id", "statement", "trace", "reading", "paper", "measured", "ratio", "verdict"]].round({"ratio": 4})
    picture, table = folder / "published_all.png", folder / "published_all.csv"
    if not picture.exists() or not table.exists() or not frame.reset_index(drop=True).equals(_as_written(table)):
        from astraea.plots import charts, forest  # takes a second, which is spent only where something changed

        fig, ax = charts.panels(width=7.0, height=0.6 + 0.16 * frame["id"].nunique())
        rows = frame["id"] + "  " + frame["statement"].str.slice(0, SHOWN)
        forest.forest(frame.assign(row=rows), "ratio", by="row", mark="reading", ax=ax)
        charts.save(fig, "published", "all", folder, frame)
    return picture


def _as_written(table: Path) -> pd.DataFrame:
    return pd.read_csv(table, keep_default_na=False)


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


def _ranges(frame: pd.DataFrame) -> pd.DataFrame:
    """Published statistics of a synthetic trace for a person: mean over seeds, and from the smallest to the largest."""
    mean, smallest, largest = (frame[c].map(_digits) for c in ("mean", "smallest", "largest"))
    spread = mean + " (" + smallest + " .. " + largest + ")"
    how = {"above": "more", "at least": "at least that"}
    shown = {
        "statistic": frame["statistic"],
        "published": frame["published"].map(lambda x: f"{x:,g}") + ", " + frame["source"],
        "may be off by": frame["within"].replace(how),
        "ours, mean (smallest .. largest)": spread.where(smallest != largest, mean),
        "seeds": frame["seeds"],
        "within": frame["holds"].map({True: "yes", False: "no"}),
        "why": frame["why"].astype(object).fillna(""),
    }
    return pd.DataFrame(shown)


def _digits(x: float) -> str:
    """Three digits and more, as many as there are before the point."""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


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
    traces = {path.stem.partition("_")[2] for path in folder.glob("fig13_*.csv")}
    real = sorted(traces - set(SYNTHETIC))
    if not real or len(real) == len(traces):
        return text
    return (
        f"{text} The figures of {' and '.join(real)}, {'a real workload' if len(real) == 1 else 'real workloads'}, "
        "are made by `make real`, or put there by hand; beside them stands what the first were made from."
    )
