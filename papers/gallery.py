"""The pages of a folder of figures: `python -m papers.gallery FOLDER` writes its ``README.md`` and ``statements.md``.

Everything comes from the tables and pictures of the folder itself, so the pages of your own log show its results only.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd

from astraea.core.files import write_atomically
from astraea.plots import LOOKS
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, notebooks
from papers.notebook_cells import read
from papers.rules import Verdict
from papers.statements import PAPERS, counts, evaluate, published

ROWS: Final = ("astraea", "tiresias-l", "gandiva-fair", "themis", "yarn-cs")
"""Schedulers of the headline table, where the tables have them."""

READINGS: Final = {"the authors' program": "authors' program", "from the papers": "from the papers"}

_TEMPLATE: Final = """\
# Figures{{ " of " ~ own if own else "" }}

{% if counted %}
Four papers were reproduced. Of {{ can_fail }} verdicts that can fail, one for each statement, trace and reading,
{{ counted }}. See [all statements](statements.md).

{% endif %}
{% if headline %}
A job is *short of its share* if it received less than 95 % of the GPU-time that it was entitled to. {{ means }}

{{ headline }}

*Authors' program* is the simulator that ASTRAEA's authors released: under every rival but YARN-CS, ASTRAEA's rule
picks the tenant. *From the papers* means that each scheduler works as its own authors describe it. Our source for
Themis is a set of notes on its paper.

{% endif %}
{% if fragile %}
## What is fragile

{% for line in fragile %}
- {{ line }}
{% endfor %}

{% endif %}
{% for paper, figures in pictures.items() %}
## {{ paper }}

{% for figure in figures %}
**{{ figure.id }}.** {{ figure.line }} {{ figure.made }}


{% for stem in figure.stems %}
<a href="{{ stem }}.png"><img src="{{ stem }}.png" width="{{ figure.width }}" alt="{{ stem }}"></a>
{% endfor %}


{% endfor %}
{% endfor %}
"""


def write_gallery(folder: Path) -> list[Path]:
    """Write the pages of a folder, and return their paths; without a table of a statement there is no page of them."""
    found = evaluate(folder=folder, committed=False)
    found = found if (found["verdict"] != Verdict.UNTESTED).any() else found.iloc[:0]
    traces = sorted(path.stem.partition("_")[2] for path in folder.glob("table10_*.csv"))
    ours = not traces or bool(set(traces) & set(SYNTHETIC))
    trace = "venus" if "venus" in traces else traces[0] if traces else ""
    table, seeds = headline(folder, trace) if trace else ("", 0)
    means = f"Values are means over {seeds} seeds, with the lowest and the highest in brackets."
    means = means if seeds > 1 else "There is one run of each."
    results = found[found["kind"] == "result"]["verdict"]
    page = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False).from_string(_TEMPLATE).render(
        own="" if ours else trace, headline=table, means=means, can_fail=len(results), counted=_in_words(results),
        fragile=_fragile(folder) if trace == "venus" else [], pictures=_pictures(folder),
    )  # fmt: skip
    pages = {folder / "README.md": re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"}
    if len(found):
        pages[folder / "statements.md"] = statements(found)
    for path, text in pages.items():
        write_atomically(path, text)
    return [*pages]


def headline(folder: Path, trace: str) -> tuple[str, int]:
    """Return the table of jobs that are short of their share, the lowest in bold, and the number of seeds."""
    losses = 100 * pd.read_csv(folder / f"table10_{trace}.csv").set_index(["reading", "scheduler"])["sharing_loss"]
    names = [name for name in ROWS if name in losses.index.unique("scheduler")]
    paper = pd.Series({name: 100 * value for name, value in published("ye.f10", trace).items()}, dtype=float)
    columns = {"paper": paper} if len(paper) else {}
    columns |= {
        words: losses[reading] for reading, words in READINGS.items() if reading in losses.index.unique("reading")
    }
    rows = {}
    for title, column in columns.items():
        shown = column[column.index.isin(names)].groupby(level=0).agg(["mean", "min", "max", "size"])
        for name, (mean, low, high, n) in shown.iterrows():
            text = f"**{mean:.1f} %**" if mean == shown["mean"].min() else f"{mean:.1f} %"
            rows[title, name] = f"{text} ({low:.1f} to {high:.1f})" if n > 1 else text
    table = [[re.sub(r"\$_\{\\mathrm\{(.*?)\}\}\$", r"_\1", LOOKS[name].label),
              *(rows.get((title, name), "not printed" if title == "paper" else "not in it") for title in columns)]
             for name in names]  # fmt: skip
    header = [f"jobs short of their share, {trace.capitalize() if trace in SYNTHETIC else trace}", *columns]
    return _markdown(pd.DataFrame(table, columns=header)), int(losses.groupby(level=[0, 1]).size().max())


def statements(found: pd.DataFrame) -> str:
    """Return the page of all statements: their counts, the meaning of the verdicts, and one table for each paper."""
    table = counts(found).reset_index()
    table.loc[len(table)] = ["**all**", "", *table.drop(columns=["paper", "reading"]).sum()]
    lines = ["# All statements", "", _markdown(table.astype(str)), "", *_MEANINGS]
    shown = found.rename(columns={"measured": "here"}).astype({"note": str})
    shown["where"] += ", " + shown["trace"]
    shown["here"] = shown["reading"].where(shown["reading"] == "", shown["reading"] + ": ") + shown["here"]
    shown["verdict"] += shown["kind"].map({"repeated": " (not counted)"}).fillna("")
    shown.loc[shown.duplicated(["id", "trace", "note"]), "note"] = ""
    shown.loc[shown.duplicated(["id", "trace"]), ["statement", "where", "paper"]] = ""
    for prefix, paper in PAPERS.items():
        mine = shown[shown["id"].str.partition(".")[0] == prefix]
        columns = ["statement", "where", "paper", "here", "interval", "verdict", "note"]
        lines += [f"## {paper}", "", _markdown(mine[columns]), ""]
    return "\n".join(lines)


_MEANINGS: Final = (
    "*Partly* means the right sign or order with another size; of a plain number, within a factor of two. *Within "
    "noise* means that the 95 % interval of the difference, paired over seeds or trials, contains 0; with one run, "
    "that it is at most 1 %. *Holds of those tested* means that some schedulers of the statement are not there. A lost "
    "or tied ordering fails.",
    "",
    "*Counted apart* is what our traces are made to have (*calibrated*), worked examples, and what is "
    "true by construction. *Not counted* are statements that follow from others. Each statement is judged on the "
    "paper's own traces; recorded logs are in notebook 04.",
    "",
)


def _fragile(folder: Path) -> list[str]:
    """Say what the headline depends on, with numbers where their tables are there."""
    found = []
    if (folder / "load_venus.csv").is_file():
        load = pd.read_csv(folder / "load_venus.csv").query("scheduler == 'astraea' and 0.85 < load < 1.25")
        shares = 100 * load.groupby(["reading", "load"])["sharing_loss"].mean().loc["the authors' program"]
        each = ", ".join(f"{value:.1f} % at {at:g}" for at, value in shares.items())
        runs = f"{n} seeds" if (n := load["seed"].nunique()) > 1 else "one seed"
        found.append(
            f"**The load.** In the authors' program and at other loads, ASTRAEA leaves short: {each} ({runs})."
        )
    if (folder / "accounting_venus.csv").is_file():
        ways = pd.read_csv(folder / "accounting_venus.csv").query("scheduler == 'astraea'")
        share = 100 * ways.groupby("accounting")["sharing_loss"].mean()
        found.append(f"**The first round.** Counting submissions in rounds of 10 s, ASTRAEA from its paper leaves "
                     f"{share['in rounds']:.0f} % short; counting to the second, {share['to the second']:.0f} %. "
                     "These are two seeds; the order of the schedulers hardly changes.")  # fmt: skip
    if (folder / "baselines_venus.csv").is_file():
        forms = 100 * pd.read_csv(folder / "baselines_venus.csv").groupby("scheduler")["sharing_loss"].mean()
        if "themis-times-n" in forms:
            found.append(f"**Themis.** With [Ye2022]'s formula for the time on a private share, it leaves "
                         f"{forms['themis-times-n']:.1f} % short, and ASTRAEA {forms['astraea']:.1f} %.")  # fmt: skip
    return [
        *found,
        "**Venus is synthetic**, and so is Philly: drawn from published statistics, because the two weeks of jobs that "
        "the authors used are not published.",
        "**The recorded workloads are two logs**: w2, chrSLO and philly-vcs are parts of one, of Microsoft's Philly "
        "cluster, and ITP is the other.",
    ]


def _pictures(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the pictures of each paper, in the order of ``data/pictures.csv``; the others come last."""
    stems: dict[str, list[str]] = {}
    for stem in sorted(file.stem for file in folder.glob("*.png")):
        stems.setdefault(stem.partition("_")[0], []).append(stem)
    known = pd.read_csv(ROOT / "data" / "pictures.csv").set_index("id")
    pictures: dict[str, list[dict[str, Any]]] = {}
    for id in [*(i for i in known.index if i in stems), *(i for i in stems if i not in known.index)]:
        paper, line = known.loc[id] if id in known.index else ("More", "")
        path = made_by(stems[id][0])
        to = Path(os.path.relpath(path, folder)).as_posix() if path else ""
        made = f"Made by [{path.stem.replace('_', ' ')}]({to})." if path else ""
        pictures.setdefault(str(paper), []).append({
            "id": id, "line": line, "made": made, "width": 440 if len(stems[id]) > 1 else 640,
            "stems": sorted(stems[id], key=lambda stem: (not stem.endswith("_venus"), not stem.endswith("_philly"))),
        })  # fmt: skip
    return pictures


_GIVE_NAMES: Final = ("save", "save_table", "stored", "over_load", "timeline")


def made_by(stem: str) -> Path | None:
    """Return the notebook whose code names this picture, ``fig10_venus`` for one; the most exact name counts."""
    best = max(_names(), key=lambda one: len(one[0]) if re.fullmatch(one[1], stem) else 0)
    return best[2] if re.fullmatch(best[1], stem) else None


@cache
def _names() -> list[tuple[str, str, Path]]:
    """Return the fixed part and the pattern of each name that a notebook gives a picture or a table, and its path."""
    found = []
    for notebook in notebooks().values():
        code = "\n".join(cell.source for cell in read(notebook) if cell.cell_type == "code")
        for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*", "", code, flags=re.M))):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _GIVE_NAMES:
                given = node.args
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "name":
                given = [node.value]
            for name in given:
                parts = name.values if isinstance(name, ast.JoinedStr) else [name]  # noqa: PD011
                texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
                if isinstance(texts[0], str):
                    pattern = "".join(re.escape(str(text)) if text is not None else "[^_]+" for text in texts)
                    fixed = "".join(str(text) for text in texts if text is not None).replace("_", "")
                    found.append(
                        (fixed, pattern if "_" in pattern.replace("[^_]", "") else f"{pattern}(_.*)?", notebook)
                    )
    return found


def _in_words(verdicts: pd.Series) -> str:
    each = verdicts.value_counts()
    plural = {"holds": "hold", "fails": "fail", "holds of those tested": "hold of those tested",
              "partly": "hold partly", "within noise": "are within noise"}  # fmt: skip
    parts = [f"{each[v]} {plural.get(v, v) if each[v] > 1 else v}" for v in map(str, Verdict) if v in each]
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if parts[1:] else "".join(parts)


def _markdown(table: pd.DataFrame) -> str:
    rows = [[str(cell).replace("|", "\\|") for cell in row] for row in (table.columns, *table.to_numpy())]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


if __name__ == "__main__":
    print(*write_gallery(Path(sys.argv[1] if sys.argv[1:] else ROOT / "figures")), sep="\n")
