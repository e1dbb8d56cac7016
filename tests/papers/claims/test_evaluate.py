"""Reading and evaluating statements: rules, traces and readings, and notes with evidence for a cause."""

from __future__ import annotations

import dataclasses
import re
import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT

from astraea.cluster.policies import all_policies
from astraea.cluster.settings import Settings
from astraea.core.errors import InputError
from astraea.traces.named import FETCHED
from papers.claims import evaluate
from papers.claims.beside import narrow, published, published_of, verdicts
from papers.claims.checks import OF_PHILLY, REPEATED, STATEMENTS, counted, read_statements
from papers.claims.evaluate import read_claims
from papers.claims.notes import read_notes, with_reasons
from papers.gallery.pages import write_gallery
from papers.gallery.verdicts import by_reading, side_by_side, tally
from papers.judging import Verdict
from papers.market.workload import HERE, SECTION
from papers.ye2022.readings import PAPERS, PROGRAM
from papers.ye2022.rules import SEVEN

HOLDS, OF_THOSE, DIRECTION, OTHERWISE, NOT_YET = Verdict
FIGURES = ROOT / "figures"


def test_every_statement_has_a_rule() -> None:
    table = read_claims()
    assert len(table) == 139 and table["id"].is_unique
    assert set(STATEMENTS) == set(table["id"])
    assert set(table["relation"]) >= {"=", "ordering", "monotone", "shape", "exists", "<="}


def test_published_values_are_those_of_the_trace() -> None:
    losses = published_of("ye.f10", "helios-venus")
    assert {name: losses[name] for name in ("astraea", "themis")} == pytest.approx({"astraea": 0.071, "themis": 0.197})
    assert published_of("ye.f9", "venus")["jct"] == 1200
    assert published_of("ye.f10", "philly") == {}
    assert published("wang.f9") == 1.56
    for id in ("wang.f6", "none"):
        with pytest.raises(InputError, match="no statement with a published value"):
            published(id)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('table = "fig01"', "there is no rule ''; there are: absolutely_fair, "),
        ('rule = "lowestt", table = "fig13"', "there is no rule 'lowestt'; there are: absolutely_fair, "),
        ('rule = "lowest", column = "x"', "the table is missing"),
        ('rule = "lowest", table = "fig13"', "rule lowest: missing a required argument: 'column'; it takes: column"),
        ('rule = "lowest", table = "fig13", column = "x", a = 1', "rule lowest: got an unexpected keyword argument"),
    ],
)
def test_what_a_statement_lacks_is_said(tmp_path: Path, entry: str, says: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(f'"ye.f13" = {{ {entry} }}\n')
    with pytest.raises(InputError) as err:
        read_statements(path)
    assert str(err.value).startswith(f"{tmp_path.name}/claims.toml, ye.f13: {says}")


def test_missing_column_is_named(tmp_path: Path) -> None:
    pd.DataFrame({"limit": [600], "part": [0.5]}).to_csv(tmp_path / "table1_venus.csv", index=False)
    with pytest.raises(InputError, match=r"table1_venus\.csv: column 'share' is missing; found limit, part"):
        evaluate.evaluate(tmp_path)


def test_a_value_is_checked_on_its_trace_and_an_order_on_every_one(tmp_path: Path) -> None:
    assert by_reading(evaluate.evaluate(tmp_path)).empty
    table = pd.DataFrame({"scheduler": ["astraea", "yarn-cs"], "seed": 0, "sharing_loss": [0.07, 0.7]})
    table.to_csv(tmp_path / "table10_venus.csv", index=False)
    (row,) = by_reading(evaluate.evaluate(tmp_path)).to_dict("records")
    counts = {"✓ hold": 2, "(✓) hold for those tested": 1, "– are not decided yet": 33}
    assert row == {"checks": 64, "cannot fail": 28, "can fail": 36, **counts}
    for trace in ("helios-venus", "my-log"):
        table.to_csv(tmp_path / f"table10_{trace}.csv", index=False)
    found = evaluate.evaluate(tmp_path).set_index(["id", "trace"])["verdict"]
    assert found["ye.f10.astraea", "helios-venus"] == HOLDS
    assert ("ye.f10.astraea", "my-log") not in found
    assert found["ye.f10.best", "my-log"] == OF_THOSE


def test_each_reading_is_judged_for_itself(tmp_path: Path) -> None:
    rows = [(PROGRAM, "astraea", 0.07), (PROGRAM, "tiresias-l", 0.1), (PROGRAM, "themis", 0.197),
            (PROGRAM, "yarn-cs", 0.736)]  # fmt: skip
    rows += [(PAPERS, name, 0.2) for name in SEVEN if name != "themis"] + [(PAPERS, "themis", 0.1)]
    frame = pd.DataFrame(rows, columns=["reading", "scheduler", "sharing_loss"]).assign(seed=0)
    frame.to_csv(tmp_path / "table10_venus.csv", index=False)
    lacking = frame[frame["scheduler"] != "yarn-cs"].rename(columns={"sharing_loss": "tenant_sharing_loss"})
    lacking.to_csv(tmp_path / "table11_venus.csv", index=False)
    found = evaluate.evaluate(tmp_path).set_index(["id", "trace", "reading"])
    verdicts, measured = found["verdict"], found["measured"]
    assert verdicts["ye.f10.astraea", "venus", PROGRAM] == HOLDS
    assert verdicts["ye.f10.astraea", "venus", PAPERS] == OTHERWISE
    # of the seven the authors' program has four
    assert verdicts["ye.f10.best", "venus", PROGRAM] == OF_THOSE
    assert measured["ye.f10.best", "venus", PROGRAM].endswith("(4 of 7 there)")
    assert evaluate.in_full(measured["ye.f10.best", "venus", PROGRAM]).endswith("(4 of 7 tested)")
    flat = evaluate.in_full("lowest at 900 s with 4 h; flat to 3600 s, less than 2 % above")
    assert flat == "lowest at 900 s with 4 h; at 3600 s under 2 % above the lowest"
    assert verdicts["ye.f10.best", "venus", PAPERS] == OTHERWISE
    # a scheduler that one reading does not have is judged in the other; one that none has is not judged
    assert [reading for _, _, reading in found.loc[["ye.f11.allox"]].index] == [PAPERS]
    assert verdicts["ye.f11.yarn-cs", "venus", ""] == NOT_YET
    shown = side_by_side(found.reset_index()).set_index(["trace", "statement"])
    row = shown.loc["venus", "ASTRAEA: share of jobs with rho_job < 0.95 (sharing loss)"]
    assert row[PROGRAM] == "✓ holds: 7 %" and row[PAPERS].startswith("✗ does not hold: 20 %")


def test_what_follows_from_others_and_cuts_of_one_log_count_once() -> None:
    rows = [("a", "w2", "", "result", HOLDS), ("a", "chrslo", "", "result", OTHERWISE), ("a", "x", "", "result", HOLDS),
            ("b", "w2", PAPERS, "result", HOLDS), ("b", "chrslo", "", "result", NOT_YET),
            ("c", "w2", "", "result", NOT_YET), ("d", "x", "", REPEATED, HOLDS)]  # fmt: skip
    found = counted(pd.DataFrame(rows, columns=["id", "trace", "reading", "kind", "verdict"]))
    assert found[["id", "trace"]].to_numpy().tolist() == [["a", "chrslo"], ["a", "x"], ["b", "w2"], ["c", "w2"]]


def test_every_workload_of_one_log_is_known() -> None:
    assert set(OF_PHILLY) == {workload for workload, download in FETCHED.items() if download.startswith("philly-")}


def test_every_printed_number_has_its_unit() -> None:
    claims = read_claims()
    without = claims[(claims["value"] != "") & (claims["unit"] == "")]
    assert without["id"].tolist() == ["themis.f08"]  # f is a share, and the statement names it
    found = evaluate.evaluate(FIGURES, r"wang\.f9$|themis\.rho|gavel\.s41$|wang\.prop\.pareto")
    assert dict(zip(found["id"], found["paper"], strict=True)) == {
        "gavel.s41": "as stated", "themis.rho": "≤ 1.2 x", "wang.f9": "≤ 1.56 s", "wang.prop.pareto": "property",
    }  # fmt: skip


def test_kinds_of_statements(tmp_path: Path) -> None:
    claims = read_claims()
    assert set(claims["kind"]) == {"result", "given", "example", "construction"}
    assert set(claims["repeats"]) - {""} <= set(claims["id"])
    table = pd.DataFrame({"scheduler": ["yarn-cs", "astraea"] * 2, "seed": 0, "sharing_loss": 0.7})
    table.assign(reading=[PROGRAM, PROGRAM, PAPERS, PAPERS]).to_csv(tmp_path / "table10_venus.csv", index=False)
    for trace in ("venus", "my-log"):
        pd.DataFrame({"demand": ["1"], "slowdown_over_5": 0.1}).to_csv(tmp_path / f"table05_{trace}.csv", index=False)
    found = evaluate.evaluate(tmp_path, "ye.f10.(yarn|astraea)|ye.f5.slow").set_index(["id", "trace", "reading"])
    assert found["kind"].to_dict() == {
        ("ye.f5.slow", "venus", ""): "given", ("ye.f5.slow", "my-log", ""): "result",
        ("ye.f10.astraea", "venus", PROGRAM): "result", ("ye.f10.astraea", "venus", PAPERS): "result",
        ("ye.f10.yarn-cs", "venus", PROGRAM): "result", ("ye.f10.yarn-cs", "venus", PAPERS): REPEATED,
        ("ye.f10.yarn.ratio", "venus", PROGRAM): REPEATED,
        ("ye.f10.yarn.ratio", "venus", PAPERS): REPEATED,
    }  # fmt: skip


def test_the_readings_of_the_market_are_judged_counted_and_explained(tmp_path: Path) -> None:
    rows = [(reading, name, 0, 1, use) for reading, use in ((SECTION, 1.0), (HERE, 0.5))
            for name in ("astraea-market", "gandiva-fair")]  # fmt: skip
    columns = ["reading", "scheduler", "trial", "hour", "utilization"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "wang13_philly.csv", index=False)
    found = evaluate.evaluate(tmp_path, r"wang\.f13\.util")
    assert dict(zip(found["reading"], found["verdict"], strict=True)) == {SECTION: HOLDS, HERE: OTHERWISE}
    assert tally(found, {})["reading"].tolist() == [SECTION, HERE, ""]
    assert by_reading(found)["reading"].tolist() == [SECTION, HERE, "**all**"]
    write_gallery(tmp_path, "make figures", "small")
    page = (tmp_path / "wang2023.md").read_text(encoding="utf-8")
    assert "*as §5.1 says*" in page and "*As measured*" not in page


def test_a_notebook_shows_verdicts_of_both_sizes(tmp_path: Path) -> None:
    table = pd.read_csv(FIGURES / "fig14_venus.csv")
    for trace in ("venus", "mine"):
        table.assign(average_jct=1.0).to_csv(tmp_path / f"fig14_{trace}.csv", index=False)
    both = ("at the paper's scale", "this run, SCALE=small")
    assert verdicts(tmp_path, r"ye\.f14\.", "venus").labels == both
    assert verdicts(tmp_path, r"ye\.f14\.", "venus", "paper").labels == ("this run, SCALE=paper",)
    assert verdicts(tmp_path, r"ye\.f14\.", "mine").labels == both[1:]  # no figure shows this trace


def test_verdicts_have_a_sign_and_a_reason() -> None:
    columns = ["statement", "paper", "reading", "verdict", "measured", "note"]
    rows = [("a < b", "7 %", "the authors' program", HOLDS, "8.1 %", ""),
            ("a < b", "7 %", "from the papers", OTHERWISE, "10.4 %", "gangs wait"),
            ("c", "ordering", "", HOLDS, "astraea 1, themis 2", ""),
            ("d", "3 x", "", NOT_YET, "", "fig.csv is not there")]  # fmt: skip
    found = narrow(pd.DataFrame(rows, columns=columns))
    assert found.reset_index().replace("\N{NO-BREAK SPACE}", " ", regex=True).to_numpy().tolist() == [
        ["a < b", "7 %", "✓ 8.1 % (the authors' program)", ""],
        ["", "", "✗ 10.4 % (from the papers)", "gangs wait"],
        ["c", "ordering", "✓", "astraea 1, themis 2"],
        ["d", "3 x", "–", "fig.csv is not there"],
    ]


@cache
def reasons() -> pd.DataFrame:
    """Checks that fail, or hold in direction only, with their notes."""
    found = with_reasons(evaluate.evaluate(FIGURES))
    return found[found["verdict"].isin([DIRECTION, OTHERWISE])]


def test_every_check_that_fails_has_a_reason() -> None:
    found = reasons()
    assert len(found) and found.loc[found["note"] == "", ["id", "trace", "reading"]].to_numpy().tolist() == []


def test_every_note_is_about_a_statement_and_those_of_what_fails_in_the_program_name_a_command() -> None:
    assert set(read_notes()["id"]) <= set(read_claims()["id"])
    found = reasons()[reasons()["id"].str.startswith("ye.") & (reasons()["reading"] == PROGRAM)]
    assert len(found) and found["note"].str.contains(r"`(?:make|astraea) [^`]+`").all()


@pytest.mark.parametrize(
    "command",
    sorted({c for note in reasons().query("id.str.startswith('ye.')")["note"] for c in re.findall(r"`([^`]+)`", note)}),
)
def test_what_is_named_exists(command: str) -> None:
    program, *words = shlex.split(command)
    if program == "make":
        target, *given = words
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        for notebook in (value.removeprefix("ONLY=") for value in given if value.startswith("ONLY=")):
            assert (ROOT / "notebooks" / f"{notebook}.ipynb").is_file()
    elif program == "astraea" or program.startswith("--"):
        options = list(pairwise(words))
        chosen = [n for option, value in options if option in ("--policy", "--policies") for n in value.split(",")]
        known = {f.name for f in dataclasses.fields(Settings)}
        known |= {name for p in all_policies().values() if not chosen or p.name in chosen for name in p.parameters}
        assert set(chosen) <= set(all_policies())
        options += [(program, words[0])] if program != "astraea" else []
        assert {value.partition("=")[0] for option, value in options if option == "--param"} <= known
        assert program != "astraea" or words[0] in ("simulate", "sweep")
    else:
        assert list(FIGURES.glob(f"{program}_*.csv"))
