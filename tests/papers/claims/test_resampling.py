"""Resampling by hand: seeds, trials and weeks, drawn alike where tables belong together, the same in every process."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import ROOT
from processes import run

from papers import judging
from papers.claims import frozen, resampling
from papers.claims.checks import REPEATED, RULES
from papers.claims.evaluate import evaluate, read_claims
from papers.claims.resampling import DRAWS, draws, probability, rows_of, weeks_of, with_probability
from papers.gallery.verdicts import how_sure, side_by_side, steady
from papers.judging import Judged, Missing, Source, graded
from papers.ye2022.characterize import widest_swap
from papers.ye2022.readings import PAPERS, PROGRAM

Tables = Mapping[str, pd.DataFrame]


def source(tables: Tables, table: str = "table10", trace: str = "venus") -> Source:
    def read(name: str) -> pd.DataFrame:
        if name not in tables:
            raise Missing(name)
        return tables[name]

    return Source(read, {}, table, trace, "some.id", {})


def numbers(*values: float, by: str = "seed") -> pd.DataFrame:
    return pd.DataFrame({by: range(len(values)), "x": values})


def at_least_half(source: Source) -> Judged:
    mean = float(source("x")["x"].mean())
    return f"{mean}", graded(mean >= 0.5)


def as_on(trace: str) -> Callable[[Source], Judged]:
    """A rule of two tables: the means are equal."""

    def judge(source: Source) -> Judged:
        return "", graded(source("x")["x"].mean() == source.read(f"other_{trace}.csv")["x"].mean())

    return judge


def test_two_seeds_have_three_resamples() -> None:
    # 0 and 0 with 1/4 is below; 0 and 1 with 1/2, and 1 and 1 with 1/4, are not
    assert probability(at_least_half, source({"table10_venus.csv": numbers(0, 1)})) == (0.75, "2 seeds")
    assert probability(at_least_half, source({"table10_venus.csv": numbers(0, 1, by="trial")})) == (0.75, "2 trials")
    # of three seeds two or three must be 1, of which each is drawn with 2/3
    three = 3 * (2 / 3) ** 2 / 3 + (2 / 3) ** 3
    assert probability(at_least_half, source({"table10_venus.csv": numbers(0, 1, 1)})) == (round(three, 6), "3 seeds")
    assert [weight for weight, _ in draws([2], "a")] == pytest.approx([0.25, 0.5, 0.25])
    assert len(list(draws([5], "a"))) == 126 and sum(p for p, _ in draws([5], "a")) == pytest.approx(1)


def test_a_seed_that_is_drawn_twice_is_two_seeds() -> None:
    frame = pd.DataFrame({"seed": [3, 3, 8, 8, None], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    drawn = rows_of(frame, "seed").drawn(np.array([2, 0]))
    assert sorted(drawn["x"]) == [1, 1, 2, 2, 5]  # a row without a seed stays once
    assert drawn.groupby("seed")["x"].sum().tolist() == [3, 3] and drawn["seed"].nunique() == 2
    assert drawn.index.is_unique


def test_tables_of_one_trace_are_drawn_alike() -> None:
    tables = {f"{name}.csv": numbers(0, 1) for name in ("table10_venus", "other_venus", "other_philly")}
    assert probability(as_on("venus"), source(tables)) == (1.0, "2 seeds")
    # on different traces the means are equal with 1/16 + 1/4 + 1/16
    assert probability(as_on("philly"), source(tables)) == (0.375, "2 seeds")


@pytest.mark.parametrize(
    ("frame", "why"),
    [(numbers(1), "one run"), (pd.DataFrame({"x": [1.0, 2.0]}), "neither seeds nor trials")],
    ids=["seed", "none"],
)
def test_without_parts_nothing_is_resampled(frame: pd.DataFrame, why: str) -> None:
    same, said = probability(at_least_half, source({"fig09_venus.csv": frame}, "fig09"))
    assert math.isnan(same) and said == why


def weekly(*means: float, n: tuple[int, ...], scheduler: str = "astraea") -> pd.DataFrame:
    weeks = pd.DataFrame({"week": range(len(means)), "mean": means, "n": n})
    return weeks.assign(reading=PAPERS, scheduler=scheduler, figure="x")


def test_a_log_is_put_together_from_its_weeks() -> None:
    weeks = pd.concat([weekly(1.0, 2.0, math.nan, n=(30, 10, 0)), weekly(4.0, n=(5,), scheduler="themis")])
    table = pd.DataFrame({"reading": PAPERS, "scheduler": ["themis", "astraea"], "seed": 0, "x": [4.0, 1.25], "y": 7.0})
    parts = weeks_of(table, weeks)
    assert (parts.many, parts.what) == (3, "weeks of submission")
    whole = parts.drawn(np.array([1, 1, 1]))
    assert whole["x"].tolist() == [4.0, 1.25] and "y" not in whole
    assert parts.drawn(np.array([1, 2, 0]))["x"].tolist() == [4.0, pytest.approx(70 / 50)]


def test_weeks_are_drawn_from_three_on() -> None:
    table = pd.DataFrame({"reading": PAPERS, "scheduler": ["astraea"], "seed": 0, "x": [1 / 3]})
    tables = {"table10_w2.csv": table}
    assert probability(at_least_half, source(tables, trace="w2"))[1] == "one run"
    tables["weeks_w2.csv"] = weekly(0.0, 1.0, n=(2, 1))
    assert probability(at_least_half, source(tables, trace="w2"))[1] == "a log of 2 weeks"
    tables["weeks_w2.csv"] = weekly(0.0, 0.0, 1.0, n=(1, 1, 1))  # below half unless the third week comes twice
    same, what = probability(at_least_half, source(tables, trace="w2"))
    assert same == pytest.approx(1 - 3 * 2 / 27 - 1 / 27, abs=1e-6) and what == "3 weeks of submission"


def test_lease_terms_have_weeks_of_their_own() -> None:
    table = pd.DataFrame({"reading": PAPERS, "lease_term": [300, 900], "seed": 0, "x": [0.5, 1.5]})
    means = {300: (0.0, 1.0, 0.5), 900: (3.0, 0.0, 1.5)}
    weeks = pd.concat(weekly(*some, n=(1, 1, 2)).assign(lease_term=term) for term, some in means.items())
    tables = {"fig09_itp.csv": table, "fig09-weeks_itp.csv": weeks.drop(columns="scheduler")}

    def rises(source: Source) -> Judged:
        return "", graded(bool(source("lease_term", "x").set_index("lease_term")["x"].diff().iloc[1] > 0))

    # the longer term is higher unless the second week comes three times, or twice with the third: 1 and 3 of 27
    same, what = probability(rises, source(tables, "fig09", "itp"))
    assert what == "3 weeks of submission" and same == pytest.approx(23 / 27, abs=1e-6)


def write(folder: Path, *losses: float) -> pd.DataFrame:
    """Sharing loss of ASTRAEA and YARN-CS in both readings, a seed for each value; the statements on them."""
    rows = [(reading, name, seed, x + (name != "astraea") / 100) for reading in (PROGRAM, PAPERS)
            for seed, x in enumerate(losses) for name in ("astraea", "yarn-cs")]  # fmt: skip
    table = pd.DataFrame(rows, columns=["reading", "scheduler", "seed", "sharing_loss"])
    table.to_csv(folder / "table10_venus.csv", index=False)
    return evaluate(folder, r"ye\.f10\.(astraea|best)$")


def test_what_is_known_of_the_same_tables_is_taken_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = write(tmp_path, 0.06, 0.071)
    found = with_probability(claims, tmp_path)
    # 7.1 % of the paper, and 10 % of it: 6.55 and 7.1 are inside, 6.0 is not
    assert found.loc[found["id"] == "ye.f10.astraea", "same"].tolist() == [0.75, 0.75]
    assert set(found.loc[found["verdict"] == "not yet", "resampled"]) <= {""}
    (tmp_path / resampling.NAME).write_text(resampling.as_csv(found))
    with monkeypatch.context() as no_more:
        no_more.setattr(resampling, "probability", None)
        pd.testing.assert_frame_equal(with_probability(claims, tmp_path), found)
    other = with_probability(write(tmp_path, 0.06, 0.3), tmp_path)
    assert not set(other["digest"]) & (set(found["digest"]) - {""})


def test_resamples_are_the_same_in_every_process(tmp_path: Path) -> None:
    claims = write(tmp_path, *np.linspace(0.05, 0.09, 7))  # 1,716 resamples can be told apart: some are drawn
    assert len(list(draws([7], "a"))) == DRAWS
    found = with_probability(claims[claims["reading"] == PAPERS].iloc[:1], tmp_path)
    assert 0 < found["same"].item() < 1
    claims.iloc[[found.index[0]]].to_json(tmp_path / "claims.json", orient="records")
    code = (
        "import sys; import pandas as pd; from papers.claims.resampling import as_csv, with_probability; "
        "print(as_csv(with_probability(pd.read_json(sys.argv[1] + '/claims.json'), sys.argv[1])))"
    )
    there = run(sys.executable, "-c", code, tmp_path, env={"PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)})
    assert there.stdout.strip() == resampling.as_csv(found).strip()


def test_a_page_says_how_sure_verdicts_are(tmp_path: Path) -> None:
    found = with_probability(write(tmp_path, 0.06, 0.071), tmp_path)
    mine = found[found["id"] == "ye.f10.astraea"]
    assert side_by_side(mine)[PROGRAM].tolist() == ["✓ holds (75 %, not sure): 6.55 %"]
    shown = side_by_side(mine.assign(same=[0.9996, 1.0]))
    assert shown[PROGRAM].tolist() == ["✓ holds (99 %): 6.55 %"]
    assert shown[PAPERS].tolist() == ["✓ holds (100 %): 6.55 %"]
    text = how_sure(pd.concat([found, mine.assign(same=math.nan, resampled="one run")]))
    assert "draws with replacement from the seeds (2). With only 2 seeds, a high percentage may be luck." in text
    assert text.endswith(" 2 verdicts cannot be resampled: they come from a single run.")
    others = mine.assign(same=math.nan, resampled=["a log of 2 weeks", "neither seeds nor trials"], kind=REPEATED)
    text = how_sure(pd.concat([mine, others]))
    assert "The tables show 4 verdicts, of which 2 are counted: repeated statements are not counted" in text
    assert text.endswith("1 comes from a log of 2 weeks, and 1 comes from tables without seeds or trials.")
    text = steady(mine.assign(same=[0.96, 0.8]))
    assert text.startswith("Seeds, trials or weeks can be resampled for 2 of the verdicts that can fail. Of these, 1 ")
    assert how_sure(mine.assign(same=math.nan)) == steady(mine.assign(same=math.nan)) == ""


def test_the_last_change_of_the_rules_is_their_state() -> None:
    history = pd.read_csv(ROOT / frozen.HISTORY, dtype=str, keep_default_na=False)
    assert history["hash"].iloc[-1] == frozen.rules_hash(), "say in the file what changed, and what that moved"
    assert history["hash"].is_unique and (history != "").all(axis=None)


def test_the_hash_covers_what_counts_and_all_that_rules_call(monkeypatch: pytest.MonkeyPatch) -> None:
    before, claims = frozen.rules_hash(), read_claims()
    for column in ("kind", "repeats"):
        monkeypatch.setattr(frozen, "read_claims", lambda column=column: claims.assign(**{column: "example"}))
        assert frozen.rules_hash() != before
    modules = {inspect.getmodule(rule) for rule in RULES.values()}
    names = {judging.__name__, *(module.__name__ for module in modules if module)}
    called = {f for module in modules for _, f in inspect.getmembers(module, inspect.isfunction)}
    assert {f for f in called if f.__module__.startswith("papers.") and f.__module__ not in names} == {widest_swap}


def test_words_do_not_change_the_hash_and_code_does() -> None:
    text = 'def f(x):\n    """Say."""\n    return x  # why\n\n\nA = "text"\n"""Doc\nof A."""\n'
    assert frozen.code(text) == 'def f(x):\n    return x\nA = "text"'
    assert frozen.code(text.replace("Say", "Says").replace("# why", "")) == frozen.code(text)
    assert frozen.code(text.replace("return x", "return -x")) != frozen.code(text)
