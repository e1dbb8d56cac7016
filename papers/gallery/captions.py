"""The figures, what they show, and what makes them: the files in ``captions/``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from astraea.traces.synthetic import SYNTHETIC


class Entry(NamedTuple):
    """A figure: what it shows, or what its paper says of it, and what makes it."""

    id: str
    title: str
    text: str
    look: str = ""  # what to look at
    found: str = ""  # what came out on one trace, of which it has several, filled in from its own tables
    more: str = ""  # what else to know, folded below the picture
    recorded: str = ""  # the same of recorded workloads
    code: str = ""
    notebook: str = ""
    claims: tuple[str, ...] = ()  # how the identifiers of its statements begin
    tables: tuple[str, ...] = ()  # further ones that belong to it
    seeds: str = ""  # how many there are where no table says so
    panels: Mapping[str, str] = MappingProxyType({})  # words for each of several pictures, by the letter behind `id`

    def has(self, figure: str) -> bool:
        """Return true if a file whose name begins so belongs to this figure: its own, a panel, or a further table."""
        return bool(re.fullmatch(rf"{re.escape(self.id)}[a-z]?", figure)) or figure in self.tables


class Paper(NamedTuple):
    """A paper that is reproduced: its page, how the identifiers of its statements begin, and what was done about it."""

    key: str
    title: str
    prefix: str
    about: str


PAPERS: Final = (
    Paper("ye2022", "ASTRAEA", "ye.", "Fairness of tenants and jobs by leases, on the synthetic traces."),
    Paper("narayanan2020", "Gavel", "gavel.", "Policies as optimization problems, for GPUs of several types."),
    Paper("wang2023", "The market", "wang.", "A market in which tenants sell what they do not use."),
    Paper("mahajan2020", "Themis", "themis.",
          "Finish-time fairness by auctions. We did not have the paper, only notes on it."),
)


FURTHER: Final = {
    "further_schedulers": (
        "More on ASTRAEA and its rivals", "How rules, load and overheads decide the order of the schedulers."
    ),
    "further_tenants": ("More on tenants and leases", "A tenant's history, requests and weight, and lease terms."),
    "further_estimates": (
        "Running times and their estimates", "How well running times can be learned, and what errors cost."
    ),
    "further_slurm": ("On a real Slurm", "ASTRAEA and plain Slurm, on a small cluster and in simulation."),
    "further_gavel": ("More on Gavel", "A real cluster, spread gangs, and tenants on unequal GPUs."),
    "further_themis": ("More on Themis", "One app, one auction, and the choices that drive the results."),
    "further_market": ("More on the market", "Its prices, and how two numbers change it."),
}
"""Pages of figures that no paper has: title, and a sentence about it."""


def read(name: str) -> dict[str, Any]:
    """Read a file of ``captions/``."""
    return tomllib.loads((Path(__file__).with_name("captions") / f"{name}.toml").read_text(encoding="utf-8"))


def _entries(name: str) -> tuple[Entry, ...]:
    lists = ("claims", "tables")
    return tuple(Entry(id, **e | {name: tuple(e.get(name, ())) for name in lists}) for id, e in read(name).items())


ENTRIES: Final[dict[str, tuple[Entry, ...]]] = {key: _entries(key) for key in (*(p.key for p in PAPERS), *FURTHER)}
"""Every figure by the page that it belongs to, in order."""

EVERY: Final = [entry for entries in ENTRIES.values() for entry in entries]

PAGE: Final = {entry.id: key for key, entries in ENTRIES.items() for entry in entries}
"""The page of each figure, but for those of real workloads, which have a page of their own."""

TRACES: Final = {
    "venus": "Venus", "philly": "Philly", "w2": "w2", "chrslo": "chrSLO", "chrSLO": "chrSLO",
    "philly-vcs": "philly-vcs", "itp": "ITP",
}  # fmt: skip
"""Traces of the evaluation as the names of files have them, and as sentences do."""

OWN_WORKLOADS: Final = (
    "09_themis", "10a_gavel_programs", "10b_gavel_evaluation", "10c_gavel_extensions", "10d_gavel_hardware",
    "11a_market", "11b_market_evaluation", "13_live", "15_falsifier",
)  # fmt: skip
"""Notebooks that have workloads of their own; the others show whatever trace they are given."""


def is_real(entry: Entry, trace: str) -> bool:
    """Return true if a figure with the name of a trace shows a real workload."""
    is_given = bool(entry.code) and entry.notebook not in OWN_WORKLOADS
    return is_given and trace not in (*SYNTHETIC, "example")
