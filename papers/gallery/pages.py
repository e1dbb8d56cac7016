"""The pages: one for each paper, for what no paper has, for real workloads, for all statements, and the first one."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pandas as pd

import astraea
from astraea.core.files import write_atomically
from astraea.core.units import DAY
from astraea.core.wording import listed
from astraea.traces.named import FETCHED
from astraea.traces.sources import SOURCES
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, notebooks
from papers.claims import frozen, resampling
from papers.claims.evaluate import evaluate
from papers.claims.filled import findings
from papers.claims.notes import with_reasons
from papers.gallery import published
from papers.gallery.captions import ENTRIES, EVERY, FURTHER, PAPERS
from papers.gallery.first import first_page
from papers.gallery.sections import Made, Shown, alt, files, folded, section, shown, thumbnail, trace_of, trace_order
from papers.gallery.tables import markdown
from papers.gallery.verdicts import by_reading, explained, how_sure, side_by_side
from papers.market.workload import READINGS as MARKETS
from papers.scales import seeds
from papers.ye2022.readings import READINGS as CLUSTERS

ABOUT: Final = {
    **{paper.key: (paper.title, paper.about) for paper in PAPERS},
    **FURTHER,
    "real_traces": ("Real traces", "The evaluation of ASTRAEA on recorded workloads."),
    "statements": ("All statements", "Every statement with its verdicts."),
}
"""Title of each page but the first, and a sentence about it."""

IN_TWO_READINGS: Final = {
    CLUSTERS: (
        "*The authors' program* is the simulator that ASTRAEA's authors released. Even when it runs a rival, ASTRAEA's "
        "rule picks the tenant, and the rival only orders this tenant's jobs. *From the papers* means that each "
        "scheduler works as its own authors describe it. *(4 of 7 tested)* means that only four of the seven "
        "schedulers could be tested."
    ),
    MARKETS: (
        "The market of [Wang2023] has two readings. In *as §5.1 says*, a job has 20 to 50 chunks of data, as in §5.1. "
        "Jobs then take so long that total revenue is far below 0. In the reading *as here*, a job has one chunk for "
        "each GPU that it requests in the trace."
    ),
}
"""The readings of a paper, explained."""

MEANING: Final = "What the readings and verdicts mean, and how sure they are"
"""Summary of a fold."""

_PACKAGES: Final = ("numpy", "scipy", "highspy", "pandas", "numba", "matplotlib")


def write_gallery(folder: Path, command: str, scale: str) -> Path:
    """Write the pages into a folder of figures, and give the path of the first page, ``README.md``.

    The folder has the files ``<id>_<trace>.png`` and ``.csv``, which `command` made at a scale. The same files give the
    same pages.
    """
    claims = resampling.with_probability(evaluate(folder), folder)
    write_atomically(folder / resampling.NAME, resampling.as_csv(claims))
    beside = published.beside_published(claims, folder)
    made = Made(folder, sorted(folder.glob("*_*"), key=trace_order), command, scale, claims, "")
    if scale != "small":
        made = made._replace(claims=with_reasons(claims), findings="\n".join(findings()))
    figures = {key: found for key in ABOUT if (found := _figures(made, key))}
    pages = {key: _page(made, key, found, beside.get(key)) for key, found in figures.items()}
    pages["statements"] = _statements(made, figures)
    pages["README"] = first_page(made, ABOUT, figures, _more(made))
    for key in (*ABOUT, "README"):
        path = folder / f"{key}.md"
        if key in pages:
            write_atomically(path, _linked("\n".join(pages[key]), made, figures))
        else:
            path.unlink(missing_ok=True)
    return folder / "README.md"


def _figures(made: Made, key: str) -> list[Shown]:
    """Return the figures of a page; none if there is no file of it."""
    real = key == "real_traces"
    found = [shown(made, entry, real=real) for entry in (EVERY if real else ENTRIES.get(key, ()))]
    there = [figure for figure in found if figure.is_there]
    return found if there and key in (paper.key for paper in PAPERS) else there


def _page(made: Made, key: str, figures: list[Shown], beside: Path | None) -> list[str]:
    title, about = ABOUT[key]
    mine = pd.concat([figure.claims for figure in figures])
    lines = [f"# {title}", "", f"{about} {_links(made)}", ""]
    lines += [] if (counts := by_reading(mine)).empty else markdown(counts)
    if not counts.empty and counts["checks"].iloc[-1] < len(mine):
        also = ", and so do workloads that were cut from one log" if key == "real_traces" else ""
        lines += ["", f"Repeated statements count once in this table{also}."]
    below = [line for names, text in IN_TWO_READINGS.items() if {*names} & {*mine["reading"]} for line in (text, "")]
    below += [f"{explained(mine)} {sure}".strip(), ""] if (sure := how_sure(mine)) else []
    below += _made_from(made) if key == "real_traces" else []
    lines += ["", *(folded(MEANING, below) if below else [])]
    if beside:
        words = published.in_words([beside.with_suffix(".csv")])
        named = title.replace("The ", "the ")
        text = alt(f"Every published value of {named} beside ours", words.replace("*", ""))
        lines += [words, "", thumbnail(beside, text, 800), "", files([beside], []), ""]
    links = [f"- [{figure.entry.title}](#{figure.entry.id})" for figure in figures]
    lines += folded("The figures of this page", links)
    return [*lines, *(line for f in figures for line in section(made, f, real=key == "real_traces"))]


def _links(made: Made) -> str:
    """Links that each page but the first begins with."""
    return f"[All pages](README.md). [The glossary]({made.path_to('docs/glossary.md')}) explains the terms."


def _made_from(made: Made) -> list[str]:
    """List what the figures of real workloads were made from, as far as that is recorded beside them."""
    names = {"command": "made by", "trace_sha256": "SHA-256 of the jobs"}
    rows = []
    for path in sorted(made.folder.glob("made_*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        quoted = {says: f"`{record[name]}`" for name, says in names.items()}
        rows.append({"trace": record["trace"], "what it is": _workload(record["trace"]), **quoted})
    if not rows:
        return []
    made_from = "The figures were made from these jobs (`make data` downloads the jobs):"
    return [made_from, "", *markdown(pd.DataFrame(rows)), ""]


def _workload(trace: str) -> str:
    """Describe a downloaded workload in a few words."""
    if trace not in FETCHED:
        return ""
    download = SOURCES[FETCHED[trace]]
    part = [f"{second / DAY:.0f}" for second in download.part.get(trace, ())]
    return download.title + (f", of which days {' to '.join(part)}" if part else "")


def _statements(made: Made, figures: Mapping[str, list[Shown]]) -> list[str]:
    place = {
        (id, trace): f"{key}.md#{figure.entry.id}"
        for key, some in figures.items()
        for figure in some
        for id, trace in zip(figure.claims["id"], figure.claims["trace"], strict=True)
    }
    about = (
        "Each row is one statement on one trace. Its link leads to its figure and, if we know it, to the reason why "
        "the statement fails."
    )
    lines = ["# All statements", "", f"{about} {_links(made)}", ""]
    below = [line for text in IN_TWO_READINGS.values() for line in (text, "")]
    below += [" ".join(f"{explained(made.claims)} {how_sure(made.claims)} {_frozen(made)}".split()), ""]
    lines += folded(MEANING, below)
    for paper in PAPERS:
        mine = made.claims[made.claims["id"].str.startswith(paper.prefix)]
        table = side_by_side(mine, ["id", "where"]).drop(columns="notes")
        keys = zip(table["id"], table["trace"], strict=True)
        table["id"] = [f"[{key[0]}]({place[key]})" if key in place else key[0] for key in keys]
        lines += [f"## {paper.title}", "", *folded(f"{len(table)} rows", markdown(table))]
    return lines


def _frozen(made: Made) -> str:
    """The hash of the rules, with a link to their changes."""
    changes = f"[A list]({made.path_to(frozen.HISTORY)})"
    return (
        f"The rules that judge statements have the hash `{frozen.rules_hash()}`. If a rule changes, the hash changes "
        f"too. {changes} has every such change, and the verdicts that it moved."
    )


def _more(made: Made) -> dict[str, list[str]]:
    """The sections of the first page that fold."""
    rules = f"[papers/rules.py]({made.path_to('papers/rules.py')}) and in the folder of each paper"
    # the last finding makes sure of it from the tables
    exceptions = (
        " One of the statistics holds in direction only. A check is not decided if its scheduler cannot run: AlloX "
        "learns from earlier jobs, and ITP has none."
    )
    return {
        "rules": [
            "A statement is checked in each reading, on every trace that has its figure. A statement that repeats "
            "another one is not counted. w2, chrSLO and philly-vcs are cut from one log. They count once, with the "
            f"worst of their verdicts. The rules of the checks are in {rules}. {_frozen(made)}", "",
            "Three kinds of checks cannot fail: statistics that the synthetic traces are made to have, worked "
            f"examples, and statements that are true by construction.{exceptions if made.findings else ''}", "",
            *(line for text in IN_TWO_READINGS.values() for line in (text, "")),
        ],
        "made": [
            f"`{made.command}` runs the [notebooks]({made.path_to('notebooks')}) and writes these pages. The command "
            "and the code of each figure are below it.", "",
        ],
        "provenance": [_provenance(made)],
    }  # fmt: skip


def _provenance(made: Made) -> str:
    """Versions and seeds that give the same bytes again, and the real traces beside the synthetic ones."""
    numbers = " and ".join(f"{len(seeds(trace, made.scale))} of {trace}" for trace in SYNTHETIC)
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    text = (
        f"Astraea {astraea.__version__}, Python {platform.python_version()}, {packages}. Scale `{made.scale}`: the "
        f"synthetic traces have the seeds 0, 1, ... ({numbers}); a real one has a single run."
    )
    traces = {trace_of(path) for path in made.folder.glob("fig13_*.csv")}
    real = sorted(traces - set(SYNTHETIC))
    if not real or len(real) == len(traces):
        return text
    return (
        f"{text} The figures of {listed(real)}, {'real workloads' if real[1:] else 'a real workload'}, "
        "come from `make real`. [Their page](real_traces.md) lists the inputs and hashes."
    )


def _linked(text: str, made: Made, figures: Mapping[str, list[Shown]]) -> str:
    """Make links of the figures and notebooks that findings and notes name."""
    there = [(key, f.entry.id) for key, some in figures.items() for f in some if f.is_there]
    place = {id: f"{key}.md#{id}" for key, id in reversed(there)}  # real traces come last
    numbered = {e.notebook[:2]: notebooks()[e.notebook].relative_to(ROOT) for e in EVERY if e.notebook}

    def figure(match: re.Match[str]) -> str:
        id = match[1]
        return f"figure [`{id}`]({place[id]})" if id in place else match[0]

    def notebook(match: re.Match[str]) -> str:
        path = numbered.get(match[1])
        return f"notebook [{match[1]}]({made.path_to(path.as_posix())})" if path else match[0]

    return re.sub(r"\bnotebook (\d\d)\b", notebook, re.sub(r"\bfigure `([\w-]+)`", figure, text))
