"""Workloads that reverse an ordering: in the engine and in the textbook, and no part of them can be removed."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from astraea.core.units import HOUR
from papers.shrinking import MARGIN
from papers.ye2022 import falsifier
from papers.ye2022.falsifier import (
    LEASE,
    MEASURES,
    Job,
    SmallWorkload,
    lead,
    measured,
    random_workload,
    reversals,
    smaller,
    workload_of,
)
from papers.ye2022.falsifier_pictures import RULES, by_textbook, examples, job_table, page, smallest, why
from papers.ye2022.readings import PAPERS, PROGRAM

DRAWN = 24

TURNS = SmallWorkload(1, 2, (Job(0, 1, 0, 3), Job(0, 1, 0, 2), Job(1, 1, 1, 2)))
"""Tenant 2 comes when both jobs of tenant 1 have run for a lease, and takes its turn in the middle of one."""


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return searched(PAPERS, "gandiva-fair", "yarn-cs", "fifo")


def searched(reading: str, *rivals: str) -> pd.DataFrame:
    """Search for reversals as `falsifier.found` does, on a few workloads."""
    parts = [reversals(rival, DRAWN, 1, reading).assign(reading=reading, rival=rival) for rival in rivals]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def reversed_by(found: pd.DataFrame) -> list[tuple[str, str, SmallWorkload]]:
    there = found[found["nodes"].notna()].groupby(["rival", "measure"], sort=False)
    return [(str(rival), str(measure), workload_of(part)) for (rival, measure), part in there]


def textbook_measures(w: SmallWorkload) -> tuple[float, ...]:
    """`MEASURES` under ASTRAEA from the exact numbers of the textbook."""
    out = by_textbook(w)
    jct = [end - LEASE * job.submit for end, job in zip(out["end_time"], w.jobs, strict=True)]
    slowdown = [t / (LEASE * job.duration) for t, job in zip(jct, w.jobs, strict=True)]
    loss = [a / f < Fraction(95, 100) for a, f in zip(out["attained"], out["fair"], strict=True)]
    whole = out["timeline"][: int(max(out["end_time"]) // HOUR) + 1]  # hours that are over when the last job ends
    cases = [
        end[0] - begin[0] < end[1] - begin[1]
        for hours in pairwise(whole) for begin, end in zip(*hours, strict=True) if end[1] > begin[1]
    ]  # fmt: skip
    return tuple(float(pd.Series(values, dtype=float).mean()) for values in (loss, cases, slowdown, jct))


def test_each_measure_is_reversed_by_somebody(reversed_by: list[tuple[str, str, SmallWorkload]]) -> None:
    assert {measure for _, measure, _ in reversed_by} == {*MEASURES}


def test_it_is_reversed_by_the_engine_and_by_the_textbook(reversed_by: list[tuple[str, str, SmallWorkload]]) -> None:
    for rival, measure, w in reversed_by:
        k = MEASURES.index(measure)
        ours = textbook_measures(w)
        assert ours == pytest.approx(measured(w, "astraea"), nan_ok=True)
        assert measured(w, rival)[k] < ours[k] - MARGIN, (rival, measure)


def test_nothing_smaller_reverses_it(reversed_by: list[tuple[str, str, SmallWorkload]]) -> None:
    for rival, measure, w in reversed_by:
        tried = list(smaller(w))
        without = [len(x.jobs) for x in tried].count(len(w.jobs) - 1)
        assert without == len(w.jobs)  # each is left out once
        assert not any(lead(rival, measure, x) > MARGIN for x in tried), (rival, measure, w)


@pytest.mark.parametrize("seed", range(20))
def test_every_step_leads_to_less(seed: int) -> None:
    w = random_workload(seed)
    assert w.is_possible and w.tenants >= 2
    for x in smaller(w):
        assert x.size < w.size
        assert [job.submit for job in x.jobs] == sorted(job.submit for job in x.jobs)
        assert [*dict.fromkeys(job.tenant for job in x.jobs)] == [*range(x.tenants)]


def test_counts_are_of_the_random_workloads(found: pd.DataFrame) -> None:
    row = found[(found["rival"] == "fifo") & (found["measure"] == "average_jct")].iloc[0]
    leads = [lead("fifo", "average_jct", random_workload(seed)) for seed in range(DRAWN)]
    assert row["behind"] == sum(x > 0 for x in leads) > 0
    assert row["ahead"] == sum(x < 0 for x in leads)
    assert row[["behind", "equal", "ahead"]].sum() == row["instances"] == DRAWN


def test_it_is_the_same_again(found: pd.DataFrame) -> None:
    measured.cache_clear()
    again = reversals("fifo", DRAWN, 1)
    before = found[found["rival"] == "fifo"].drop(columns=["reading", "rival"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(again, before)


def test_the_authors_program_is_searched_with_its_own_rivals() -> None:
    theirs = searched(PROGRAM, "fifo")
    table = examples(theirs)
    assert (table["behind"] > 0).any() and {*table["rule"].dropna()} == {""}
    for row in table.dropna(subset="jobs").itertuples():
        w = workload_of(theirs[theirs["measure"] == row.measure])
        values = [measured(w, name, PROGRAM)[MEASURES.index(row.measure)] for name in ("astraea", "fifo")]
        assert [row.astraea, row.other] == values and values[1] < values[0] - MARGIN
        assert lead("fifo", row.measure, w, PROGRAM) == values[0] - values[1]
    fig = smallest(theirs)
    assert len(fig.axes) == 3 * table["jobs"].notna().sum()
    plt.close(fig)


def test_where_nothing_is_found_the_number_of_workloads_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(falsifier, "lead", lambda *_, **__: 0.0)
    table = examples(reversals("fifo", 3, 1).assign(reading=PAPERS, rival="fifo"))
    assert [*table["why"]] == ["None of 3 random workloads reverses it."] * len(MEASURES)
    assert (table["equal"] == 3).all() and table["jobs"].isna().all()


@pytest.mark.parametrize(
    ("w", "rival", "rule", "text"),
    [
        (TURNS, "fifo", RULES[0],
         "At 15 min ASTRAEA runs C because tenant 2 has had less, 0 against 30 GPU-min; FIFO runs B. "
         "Later than under FIFO: A by 15 min and B by 15 min; earlier: C by 15 min."),
        (SmallWorkload(1, 2, (Job(0, 1, 0, 3), Job(1, 1, 0, 2), Job(1, 1, 0, 2))), "fifo", RULES[1],
         "At 15 min ASTRAEA runs C because C is new; FIFO runs B. Later than under FIFO: B by 15 min."),
        (SmallWorkload(1, 6, (Job(0, 3, 0, 2), Job(0, 2, 0, 2), Job(1, 2, 0, 1))), "allox", RULES[4],
         "At 0 min ASTRAEA runs A because A came first; AlloX runs B. "
         "Later than under AlloX: B by 15 min; earlier: A by 15 min."),
    ],
)  # fmt: skip
def test_the_sentence_says_where_schedules_part(w: SmallWorkload, rival: str, rule: str, text: str) -> None:
    assert why(w, rival, "average_jct") == (rule, text)


def test_a_page_shows_both_schedules_and_the_jobs(found: pd.DataFrame) -> None:
    fig = page(found, "average_jct", ["fifo"])
    w = workload_of(found[(found["rival"] == "fifo") & (found["measure"] == "average_jct")])
    ours, theirs, listing = fig.axes
    values = [measured(w, name)[3] / 60 for name in ("astraea", "fifo")]
    assert [ax.get_title() for ax in (ours, theirs)] == [
        f"{name}: JCT {value:.4g} min" for name, value in zip(("ASTRAEA", "FIFO"), values, strict=True)
    ]
    held = sum(box.get_width() * box.get_height() for box in ours.patches if isinstance(box, Rectangle))
    assert held == pytest.approx(LEASE * sum(job.demand * job.duration for job in w.jobs))
    assert ours.get_xlim() == theirs.get_xlim()
    assert {chr(65 + k) for k in range(len(w.jobs))} <= {text.get_text() for text in listing.texts}
    plt.close(fig)


def test_the_table_of_jobs_has_every_job(found: pd.DataFrame) -> None:
    table = job_table(found)
    assert len(table) == found["nodes"].notna().sum()
    assert (table["duration"] % LEASE == 0).all() and (table["submit_time"] < HOUR).all()
