"""Numbers in prose are those of the tables: sentences in files, and the errors of templates."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from places import ROOT

from astraea.core.errors import InputError
from papers.claims import filled, notes
from papers.claims.filled import FINDINGS, fill, findings
from papers.gallery.captions import EVERY, TRACES, Entry
from papers.ye2022.readings import PAPERS

SENTENCES = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))["sentence"]
SEVEN = ("astraea", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs")
RESULT = r"\d[\d,]*\.\d+(?: (?:%|(?:h|x|times)\b))?|\d[\d,]* (?:%|(?:h|x|times)\b)"
VENUS = {"trace": "venus", "reading": PAPERS}


def words(path: Path) -> str:
    """Text of a file, or of the cells of a notebook that are no code, with single spaces."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return " ".join(text.split())


@pytest.mark.parametrize("sentence", SENTENCES, ids=[f"{k} {s['file']}" for k, s in enumerate(SENTENCES)])
def test_a_sentence_says_what_its_table_says(sentence: dict[str, str]) -> None:
    said = " ".join(fill(sentence["text"], f"sentences.toml, {sentence['file']}").split())
    assert said in words(ROOT / sentence["file"]), f"{sentence['file']}: by the tables it is: {said}"


def test_every_note_finding_and_caption_can_be_filled_in() -> None:
    texts = findings() + [fill(text, entry.id) for entry in EVERY for text in (entry.text, entry.look)]
    for entry in EVERY:
        for path in (ROOT / "figures").glob(f"{entry.id}_*.png") if entry.found else ():
            trace = path.stem.partition("_")[2]
            texts += [fill(entry.found, path.name, trace=trace, on=TRACES[trace])]
    rows = notes.read_notes().to_dict("records")
    reasons = [notes.filled(row["id"], row["trace"], row["reading"], row["note"]) for row in rows]
    assert [reason for reason in reasons if not reason.endswith(".")] == []
    texts += reasons
    assert not any("{{" in text or "nan" in re.findall(r"\bnan\b", text) for text in texts)
    assert len({(row["id"], row["trace"], row["reading"]) for row in rows}) == len(rows)


def test_no_note_writes_a_result_out() -> None:
    columns = {"load_venus": "load", "gavel08_continuous-single": "jobs_per_hour", "themis19_apps": "f",
               "gavel09_continuous-multiple": "jobs_per_hour"}  # fmt: skip
    settings = {f"{x:g}" for name, column in columns.items() for x in filled.table(name)[column].dropna()}
    settings |= {f"{x:g} %" for x in filled.table("fig14_venus")["nodes_percent"]} | {"0.95", "0.99", "24 h", "6 h"}
    typed = [
        f"{row['id']}, {row['trace']}, {row['reading']}: {number}"
        for row in notes.read_notes().to_dict("records")
        for number in re.findall(RESULT, re.sub(r"{{.*?}}|{%.*?%}|`.*?`|§[\d.]+", "", row["note"]))
        if number not in settings
    ]
    assert typed == []


@pytest.mark.parametrize("entry", EVERY, ids=[entry.id for entry in EVERY])
def test_no_caption_writes_a_number_out(entry: Entry) -> None:
    text = re.sub(r"{{.*?}}|§[\d.]+", "", entry.text)
    assert not re.search(r"\d\.\d|\d (times|x)\b", text), entry.id


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ('{{ value("table10", "sharing_loss", "astra") }}', "table10_venus.csv has no scheduler 'astra'"),
        ('{{ value("table10", "loss", "astraea") }}', "table10_venus.csv has no column 'loss'"),
        ('{{ value("table10", "sharing_loss") }}', "table10_venus.csv has 8 rows with {'reading': 'from the papers'}"),
        ('{{ value("table99", "sharing_loss") }}', "figures/table99_venus.csv is not there"),
        ('{{ value("ladder") }}', "missing 1 required positional argument"),
        ('{{ paper("ye.f13") }}', "'ye.f13' is no statement with a published value"),
        ('{{ ahead("table10", "sharing_loss", "astraea", ["fifi"]) }}', "table10_venus.csv has no scheduler 'fifi'"),
        ("{{ loss }}", "'loss' is undefined"),
        ('{{ (value("table10", "sharing_loss", "astraea") - "x" }}', "unexpected"),
        ('{{ sure(1 > 2, "one is more than two") }}', "the tables do not say that one is more than two"),
        ("{{ (0.0 / 1)|percent }}{{ nothing|percent }}", "there is no such number"),
    ],
)
def test_what_cannot_be_filled_in_is_named_with_its_place(template: str, says: str) -> None:
    with pytest.raises(InputError) as err:
        fill(template, "data/findings.md, line 3", **VENUS, nothing=float("nan"))
    assert str(err.value).startswith("data/findings.md, line 3: ") and says in str(err.value)


def test_a_note_without_a_number_of_its_own_fails() -> None:
    with pytest.raises(InputError, match=r"claim_notes\.csv, ye\.f13, venus: the note has no number"):
        notes.filled("ye.f13", "venus", "", "It depends on the trace")
    said = notes.filled("ye.f10.best", "venus", PAPERS, '{{ value("table10", "sharing_loss", "yarn-cs")|percent(0) }}')
    assert said == "81 %"


def test_a_number_of_a_figure_is_the_mean_over_its_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fig_a.csv").write_text("scheduler,seed,x\na,0,1000\na,1,2001\nb,0,7\n")
    monkeypatch.setattr(filled, "FIGURES", tmp_path)
    template = '{{ value("fig", "x", "a")|fixed }}; {{ value("fig", "x", "a", how="max")|hours(2) }}; {{ 0.5|points }}'
    assert fill(template, "here", trace="a") == "1,500.5; 0.56 h; 50.0"


def test_an_ordering_holds_on_every_trace_or_is_named_with_both_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trace, other in (("a", 2), ("b", 1)):
        (tmp_path / f"fig_{trace}.csv").write_text(f"scheduler,seed,x\nours,0,0\nours,1,2\ntheirs,0,{other}\n")
    monkeypatch.setattr(filled, "FIGURES", tmp_path)
    template = '{{ ahead("fig", "x", "ours", over=["theirs"], traces=traces) }}'
    assert fill(template, "here", traces=["a"]) == ""
    with pytest.raises(InputError, match=r"^here: fig_b\.csv: x is 1 for ours, not below 1 for theirs$"):
        fill(template, "here", traces=["a", "b"])


def test_a_finding_is_one_line_and_says_which_table_nobody_has_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    head = '{% macro twice(x) %}{{ (2 * x)|fixed }}{% endmacro %}\n## Title\n\nWords.\n\n'
    (tmp_path / FINDINGS).write_text(head + '1. **Ten** is\n   {{ twice(5) }}.\n2. {{ table("t")|length }} rows\n')
    monkeypatch.setattr(filled, "ROOT", tmp_path)
    monkeypatch.setattr(filled, "FIGURES", tmp_path)
    assert findings() == [
        "## Title\n\nWords.", "", "1. **Ten** is 10.0.", "2. *Not made yet: figures/t.csv is not there.*",
    ]
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    assert findings()[-1] == "2. 2 rows"
    (tmp_path / FINDINGS).write_text(head + "1. {{ once(5) }}\n")
    with pytest.raises(InputError, match=r"^data/findings\.md, finding 1: 'once' is undefined"):
        findings()


def test_findings_are_short_and_those_of_the_gallery_are_all_made() -> None:
    lines = [line for line in findings() if re.match(r"\d+\. ", line)]
    assert len(lines) <= 16
    assert not [line for line in lines if len(line.split()) > 90]
    assert "Not made yet" not in (ROOT / "figures" / "README.md").read_text(encoding="utf-8")


def test_how_steady_results_are_is_read_beside_the_checks_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table12_venus.csv").write_text(
        "reading,scheduler,seed,average_slowdown\n" + "".join(f"{PAPERS},{s},0,{k}\n" for k, s in enumerate(SEVEN))
    )
    (tmp_path / "probabilities.csv").write_text(
        f"id,trace,reading,verdict,same,resampled,digest\nye.f12,venus,{PAPERS},holds,0.75,5 seeds,a\n"
        f"ye.f13,venus,{PAPERS},holds,0.5,5 seeds,a\nye.f12,philly,{PAPERS},holds,,one run,a\n"
    )
    monkeypatch.setattr(filled, "FIGURES", tmp_path)
    said = '{{ checks("ye.f12", reading=papers) }} {{ checks("ye.f12", reading=program) }}'
    assert fill(said + ' {{ steadiness().to_list() }} {{ steadiness(id="ye.f13")|length }}', "here") == "1 0 [0.75] 0"
