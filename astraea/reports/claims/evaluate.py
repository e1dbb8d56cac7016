"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

Verdicts
--------
holds
    ``=`` : within the tolerance of its kind. Statistics of a trace: 2 points for shares of jobs, 3 for shares of
    GPU-time. The six-GPU example: half a point in every window. Results of simulations: 10 % of the paper's value.
    ``ordering``, ``exists`` : as stated, between means over seeds.
    ``monotone`` : every step goes the right way, or is smaller than 1 % of the first value.
    ``shape`` : the lowest point lies inside the range, within a factor of 2 of the paper's; of the fairness knob, a
    part, within 0.2 of it.
    ``<=`` : at most the value. ``>``, ``all`` : as stated. ``property`` : no counter-example was found.
holds in direction
    ``=`` : a share that the paper gives for several schedulers has the paper's order against each other one that is
    there; another share has odds s / (1 - s) that differ by less than a factor of 2 (the six-GPU
    example: each job within half a point on average); a ratio is on the same side of 1 and at
    least half as far from it, in logarithms.
    ``ordering`` : for more than half of the comparisons.
    ``monotone`` : the last value lies on the right side of the first, and the rank correlation is at least 0.5.
    ``shape`` : the lowest point lies inside the range.
    ``<=`` : the excess over 1 is at most twice the stated one.
    ``exists`` : the first half of it (`astraea.reports.claims.ye2022`).
does not hold
    Otherwise.
not yet
    A table or a scheduler that the statement speaks of is not there. A statement about all seven schedulers that is
    true of those that are there is still "not yet"; if it is false of them, that is said.

A statement about ``venus`` with a value is checked on traces of Venus (whose name has "venus" in it), one about
``philly`` on traces of Philly; orderings, monotone trends, shapes and bounds on every trace of the folder.

Tables
------
``<id>_<trace>.csv``; shares are numbers in [0, 1], times in seconds; `demand` is a text; one row per seed where
there is a column `seed`; a `scheduler` is named as in `astraea policies`.

======== ===================================================================================================
table1   limit [s] (600, 3600, 21600, 86400, 518400), seed, share: jobs that run less
fig01    demand, state, share: of all jobs; demand is 1, 2, 3, 4, 5-7, 8, >8
fig02    demand, state, share: of all GPU service time
fig03    demand, running_time, share: distribution function, with points at 3600 and 86400 s (other panels: in
         columns of their own, empty here)
fig04    tenant, day, utilization: daily means of at least two tenants
table05  demand (1, <4, >=4), seed, pending_over_30min, average_pending_time, slowdown_over_5: under FIFO
fig06    mechanism, job_id (Job1, Job2, Job3), demand, start, end, kind; the trace is ``example``
fig09    lease_term, seed, average_jct, overhead_share, sharing_loss
fig10    scheduler, rho_job, share: distribution function          table10  scheduler, seed, sharing_loss
fig11    scheduler, tenant, low, q1, median, q3, high, n           table11  scheduler, seed, tenant_sharing_loss
fig12    scheduler, slowdown, share: distribution function         table12  scheduler, seed, average_slowdown
fig13    scheduler, seed, average_jct
fig14    scheduler, nodes_percent, seed, average_jct, sharing_loss
======== ===================================================================================================

Of Themis, one row per trial, with leases of ``inf`` for one-shot auctions; the trace is ``apps``, of properties
``random``:

================= ============================================
themis09          scheduler, max_rho
themis19          f, max_rho, gpu_time [GPU-h]
themis19-lease    scheduler, lease_term, max_rho
themis-properties property, instances, violations
================= ============================================

Further columns, and figures of their own (``fig05``), are free.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.files import project_root
from astraea.reports.claims.mahajan2020 import THEMIS_RULES
from astraea.reports.claims.narayanan2020 import GAVEL_RULES
from astraea.reports.claims.rules import DIRECTION, HOLDS, NOT_YET, OTHERWISE, Missing, Tables
from astraea.reports.claims.wang2023 import MARKET_RULES
from astraea.reports.claims.ye2022 import RULES as ASTRAEA_RULES

RULES: Final = {**ASTRAEA_RULES, **GAVEL_RULES, **MARKET_RULES, **THEMIS_RULES}
VERDICTS: Final = (HOLDS, DIRECTION, OTHERWISE, NOT_YET)
COLUMNS: Final = ("id", "where", "trace", "statement", "paper", "measured", "verdict", "note")
_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "exists")


def read_claims(folder: str | Path | None = None) -> pd.DataFrame:
    """Every statement of the papers: the rows of `data/claims.csv`, all columns as text.

    Raises
    ------
    InputError
        If the table is not there: it is part of a checkout, not of the installed package.
    """
    path = _data(folder) / "claims.csv"
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_notes(folder: str | Path | None = None) -> dict[tuple[str, str], str]:
    """Why a statement does not hold, by (id, trace): the rows of `data/claim_notes.csv`.

    Raises
    ------
    InputError
        If a note is about a statement that does not exist.
    """
    path = _data(folder) / "claim_notes.csv"
    if not path.is_file():
        return {}
    notes = pd.read_csv(path, dtype=str, keep_default_na=False)
    unknown = sorted(set(notes["id"]) - set(read_claims(folder)["id"]))
    if unknown:
        raise InputError(f"{path}: there is no statement {unknown[0]!r} in claims.csv")
    return {(row.id, row.trace): row.note for row in notes.itertuples()}  # type: ignore[misc]


def evaluate(folder: str | Path, data: str | Path | None = None) -> pd.DataFrame:
    """Measure every statement on the tables behind the figures.

    Parameters
    ----------
    folder : path
        With the files ``<id>_<trace>.csv``.
    data : path, optional
        Folder of `claims.csv` and `claim_notes.csv`; that of the checkout if not given.

    Returns
    -------
    DataFrame, columns `COLUMNS`, all text
        One row per statement and trace that it was checked on, in the order of `claims.csv`.

    Raises
    ------
    InputError
        If a table lacks a column that it must have.
    """
    claims = read_claims(data)
    tables = Tables(Path(folder), {i: float(v) for i, v in zip(claims["id"], claims["value"], strict=True) if v})
    rows = []
    for claim in claims.to_dict("records"):
        id, relation = claim["id"], claim["relation"]
        paper = f"{claim['value']} {claim['unit']}".strip() if relation != "<=" else f"≤ {claim['value']}"
        paper = f"{relation} {paper}" if relation in ("<", ">", "up to") else paper
        shown = {
            "id": id,
            "where": f"{claim['source'].split()[0]} {claim['where']}",
            "statement": f"{claim['subject']}: {claim['metric']}",
            "paper": paper or relation,
        }
        for trace in _traces(tables, id, claim["trace"], relation):
            measured, verdict, missing = "", NOT_YET, ""
            if id in RULES:
                try:
                    measured, verdict = RULES[id].check(tables, trace, id)
                except Missing as err:
                    missing = str(err)
            rows.append({**shown, "trace": trace, "measured": measured, "verdict": verdict, "note": missing})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def with_reasons(table: pd.DataFrame, data: str | Path | None = None) -> pd.DataFrame:
    """Add to the table of `evaluate` what is known of why a statement does not hold, or of where it ends to hold.

    The notes were found at the evaluation's size, so they belong into its gallery and not beside the small outputs of
    the notebooks.
    """
    notes = read_notes(data)
    reasons = [
        notes.get((id, trace), "" if verdict == HOLDS else note)
        for id, trace, verdict, note in zip(table["id"], table["trace"], table["verdict"], table["note"], strict=True)
    ]
    return table.assign(note=reasons)


def _traces(tables: Tables, id: str, trace: str, relation: str) -> list[str]:
    """Traces of the folder that a statement is checked on; the statement's own if there is none."""
    if id not in RULES or RULES[id].pair:
        return [trace]
    there = tables.traces(RULES[id].table)
    if relation not in _EVERYWHERE and trace != "both":
        there = [t for t in there if trace in t]
    return there or (["venus", "philly"] if trace == "both" else [trace])


def _data(folder: str | Path | None) -> Path:
    return Path(folder) if folder is not None else project_root("data/claims.csv") / "data"


PAPERS: Final = {"ye.": "ASTRAEA", "gavel.": "Gavel", "wang.": "the other Astraea", "themis.": "Themis"}
"""How the identifiers of a paper's statements begin."""


def counts(table: pd.DataFrame) -> list[str]:
    """How many statements of each paper got which verdict, in sentences; none for a paper of which nothing is there."""
    words = {HOLDS: "hold", DIRECTION: "hold in direction", OTHERWISE: "do not hold", NOT_YET: "not yet"}
    sentences = []
    for prefix, paper in PAPERS.items():
        mine = table[table["id"].str.startswith(prefix)]
        found = mine["verdict"].value_counts()
        if set(found.index) - {NOT_YET}:
            parts = ", ".join(f"{found[v]} {words[v]}" for v in VERDICTS if v in found)
            sentences.append(f"{paper}: {len(mine)} checks of {mine['id'].nunique()} statements, {parts}.")
    return sentences
