"""The gallery shows everything once, with a description, under its notebook; the same files give the same pages."""

from __future__ import annotations

import html
import json
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from PIL import Image
from places import ROOT

from astraea.plots.files import DPI
from papers import notebooks
from papers.charts.axes import panels
from papers.claims.evaluate import MARKS, WORDS, evaluate, read_claims
from papers.gallery import headline
from papers.gallery.captions import ENTRIES, EVERY, FURTHER, TRACES
from papers.gallery.captions import PAPERS as PAPERS_OF
from papers.gallery.pages import write_gallery
from papers.gallery.published import EDGE, LABELS, as_written, beside_published, forest, in_words
from papers.gallery.tables import GENERATOR, written_out
from papers.gallery.verdicts import finding, side_by_side, summary, tally, with_footnotes
from papers.ye2022.readings import PAPERS, PROGRAM

FIGURES = ROOT / "figures"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FIGURES.glob("*.md")}
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"")
PICTURE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]* alt="([^"]*)"[^>]*>')


def make(folder: Path) -> None:
    folder.mkdir()
    jct = pd.DataFrame({"scheduler": ["astraea", "tiresias-l", "yarn-cs"], "seed": 0, "average_jct": [1e4, 2e4, 9e3]})
    for trace in ("venus", "philly", "my|log"):
        jct.to_csv(folder / f"fig13_{trace}.csv", index=False)
        (folder / f"fig13_{trace}.png").write_bytes(b"")
    (folder / "over-claiming_venus.png").write_bytes(b"")


def write(folder: Path, command: str = "make figures SCALE=paper", scale: str = "paper") -> dict[str, str]:
    """The pages by name."""
    assert write_gallery(folder, command, scale) == folder / "README.md"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def test_pages(tmp_path: Path) -> None:
    make(tmp_path / "a")
    pages = write(tmp_path / "a")
    assert sorted(pages) == ["README", "further_tenants", "real_traces", "statements", "ye2022"]
    page = pages["ye2022"]
    assert page.index('src="fig13_venus.png"') < page.index('src="fig13_philly.png"')
    assert "✗ does not hold" in page and "– is not decided yet" in page and "Not there yet." in page
    assert "2.78 h" in page  # what was measured
    assert "`make figures SCALE=paper ONLY=05_efficiency` (" in page  # and the time that the notebook says
    assert "; scale `paper`, 1 seed of venus, 1 seed of philly." in page
    real = pages["real_traces"]
    assert 'src="fig13_my%7Clog.png"' in real and "my|log" not in page
    assert "my\\|log" in real  # a table cell
    assert "make figures TRACE=my|log ONLY=05_efficiency" in real
    assert 'src="over-claiming_venus.png"' in pages["further_tenants"]
    assert "`make figures SCALE=paper`" in pages["README"] and "(ye2022.md)" in pages["README"]
    for id in read_claims()["id"]:  # every statement is listed, and stands at one figure
        assert id in pages["statements"]
        assert len([entry for entry in EVERY if entry.claims and id.startswith(entry.claims)]) == 1, id


def test_committed_pages_are_those_of_the_committed_tables(tmp_path: Path) -> None:
    for path in FIGURES.iterdir():
        if path.suffix != ".md":
            (tmp_path / path.name).symlink_to(path)
    here = f"{os.path.relpath(ROOT, tmp_path)}/"
    pages = {name: page.replace(here, "../") for name, page in write(tmp_path).items()}
    assert pages == PAGES


def test_a_page_without_figures_goes(tmp_path: Path) -> None:
    for name in ("synthetic", "real"):
        make(tmp_path / name)
        page = write(tmp_path / name)["README"]
        assert "The figures of my|log, a real workload, come from `make real`" in page
        for path in (tmp_path / name).glob("*_*"):
            if ("my|log" in path.name) != (name == "real") or (name == "synthetic" and path.suffix == ".png"):
                path.unlink()
    pages = write(tmp_path / "synthetic")
    assert sorted(pages) == ["README", "statements", "ye2022"]
    assert "further_" not in pages["README"] and "make real" not in pages["README"]
    pages = write(tmp_path / "real", "make figures SCALE=small TRACE=my.csv", "small")
    assert sorted(pages) == ["README", "real_traces", "statements"]
    assert "`make figures SCALE=small TRACE=my.csv ONLY=05_efficiency`" in pages["real_traces"]


def test_a_finding_has_the_value_of_the_paper_and_ours(tmp_path: Path) -> None:
    rows = [("the authors' program", 0.081), ("from the papers", 0.111)]
    table = pd.DataFrame([(reading, "astraea", 0, loss) for reading, loss in rows],
                         columns=["reading", "scheduler", "seed", "sharing_loss"])  # fmt: skip
    table.to_csv(tmp_path / "table10_venus.csv", index=False)
    found = evaluate(tmp_path)
    mine = found[found["id"] == "ye.f10.astraea"]
    assert finding(mine) == (
        "“ASTRAEA: share of jobs with rho_job < 0.95 (sharing loss)” (venus). In the paper: 7.1 %. Here: "
        "8.1 % (*the authors' program*) and 11.1 % (*from the papers*)."
    )
    assert finding(found[found["id"].isin(["ye.f10.astraea", "ye.f9.jct"])]).endswith("1 is not decided yet.")
    assert finding(found[found["id"] == "ye.f9.jct"]) == "nothing is measured yet."
    assert finding(found.iloc[:0]) == ""
    alike = pd.concat([mine, mine.assign(id="ye.f10.themis")]).assign(verdict="does not hold")
    assert finding(alike).endswith(" None of the 4 checks of this figure holds.")
    noted = pd.concat([mine.assign(note=["why", ""]), mine.assign(trace="philly", note=["why", "how"])])
    shown, notes = with_footnotes(side_by_side(noted))
    assert shown["note"].tolist() == ["1", "1, 2"]
    assert notes == ["1. *the authors' program:* why.", "2. *from the papers:* how."]


def test_forest_has_a_row_for_each_label_below_its_heading_and_a_mark_for_each_reading() -> None:
    fig, ax = panels()
    rows = [("A", "b", PROGRAM, "=", "7 %", 2.0, "1.5 40"), ("A", "b", PAPERS, "=", "7 %", 0.5, ""),
            ("A", "c", "", "up to", "3 x", 0.001, ""), ("B", "b", PAPERS, "=", "1", float("nan"), "")]  # fmt: skip
    columns = ["heading", "label", "reading", "relation", "paper", "ratio", "seeds"]
    forest(pd.DataFrame(rows, columns=columns), ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["A", "b", "c", "B", "b"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == [
        "within 10 %", PROGRAM, PAPERS, f"single runs, {PROGRAM}", "ours, without a ratio", "published value",
        "bound: ours may lie there",
    ]  # fmt: skip
    marks = [(*map(float, line.get_xydata()[0]), line.get_marker()) for line in ax.lines if len(line.get_xdata()) == 1]
    assert {(2.0, 1.0, "o"), (0.5, 1.0, "o"), (1 / EDGE, 2.0, "o"), (1 / EDGE, 4.0, "x"), (1.5, 1.3, "o")} < {*marks}
    assert {"0.001", "3\N{MULTIPLICATION SIGN}"} < {text.get_text() for text in ax.texts}  # the first beyond the axis
    assert [text.get_fontweight() for text in ax.get_yticklabels()].count("bold") == 2
    plt.close(fig)


def test_every_published_value_is_beside_ours_with_its_seeds(tmp_path: Path) -> None:
    loads = pd.DataFrame({"policy": ["las", "las-het"] * 2, "jobs_per_hour": 5.0, "seed": [0, 0, 1, 1]})
    loads.assign(average_jct=[2.0, 1.0, 4.0, 1.0]).to_csv(tmp_path / "gavel08_continuous-single.csv", index=False)
    claims = evaluate(tmp_path, r"gavel\.f8\.jct|ye\.f13")
    assert beside_published(claims[claims["id"] == "ye.f13"], tmp_path) == {}
    (table,) = (path.with_suffix(".csv") for path in beside_published(claims, tmp_path).values())
    assert table.name == "published_narayanan2020.csv"
    row = as_written(table).set_index("id").loc["gavel.f8.jct"]
    assert row["ratio"] == pytest.approx(3 / 3.5, abs=1e-4) and row["relation"] == "up to"
    assert [float(x) for x in row["seeds"].split()] == pytest.approx([2 / 3.5, 4 / 3.5], rel=1e-3)
    words = "The paper prints a value for 1 of our results. Of these, 0 are within 10 % of the printed value, and 1 "
    words += "within a factor of 2. The value that differs most is *"
    assert in_words([table]).startswith(words)


def test_every_value_that_a_paper_prints_has_a_label() -> None:
    claims = read_claims().query("value != '' and kind != 'given' and relation != 'exists'")
    labels = {id: paper for paper, headings in LABELS.items() for some in headings.values() for id in some}
    assert {*labels} == {*claims["id"]}
    prefixes = {paper.key: paper.prefix for paper in PAPERS_OF}
    assert [id for id, paper in labels.items() if not id.startswith(prefixes[paper])] == []


def test_the_table_of_the_generators_is_written_out() -> None:
    frames = [pd.read_csv(FIGURES / f"generator_{trace}.csv") for trace in ("venus", "philly")]
    terse = {text for frame in frames for text in (*frame["statistic"], *frame["why"])}
    assert [text for text in GENERATOR if text not in terse] == []
    assert "| > 1, [Ye2022] Fig 5a |" in PAGES["ye2022"] and "change places" not in PAGES["ye2022"]


def test_tables_without_a_picture_have_readable_heads_and_numbers() -> None:
    lost = pd.DataFrame({"reading": "as here", "tenants": [5, 14], "trial": 0, "revenue_per_job": [-12269.6, -300.0],
                         "variance": [0.5, np.nan]})  # fmt: skip
    head, _, five, *_ = written_out("wang-table2", lost)
    assert head.startswith("| reading | tenants | revenue per job, ours | paper | paper / ours | variance of alpha")
    assert five == "| as here | 5 | \N{MINUS SIGN}12,270 | 599.6 |  | 0.5 | 0.7053 | 1.411 |"
    found = pd.DataFrame({"scheduler": ["gandiva-fair"], "instances": [1000], "violations": [0]})
    assert written_out("wang-properties", found)[::2] == [
        "| scheduler | tried in | fails in |", "| Gandiva_fair | 1,000 | 0 |",
    ]  # fmt: skip


def test_the_first_pages_have_the_main_result() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = "\n".join(headline.table(FIGURES))
    assert rows in readme and rows in PAGES["README"]
    assert f"each of {len(read_claims())} published statements" in readme
    assert summary(evaluate(FIGURES)) in " ".join(PAGES["README"].split())
    losses = pd.read_csv(FIGURES / "headline_all.csv").set_index(["reading", "trace", "scheduler"])["sharing_loss"]
    first = losses.groupby(["reading", "trace"]).idxmin().map(lambda key: key[2])
    assert {*first[PROGRAM]} == {"astraea"} and "astraea" not in {*first[PAPERS]}  # as its titles say


def test_the_counts_of_verdicts_add_up() -> None:
    found = tally(evaluate(FIGURES), {}).set_index("paper").drop(columns="reading")
    assert (found.drop("**all**").sum() == found.loc["**all**"]).all()
    assert (found["checks"] == found["cannot fail"] + found["can fail"]).all()
    verdicts = [f"{MARKS[verdict]} {many}" for verdict, (_, many) in WORDS.items()]
    assert (found["can fail"] == found[verdicts].sum(axis=1)).all()


def test_a_finding_is_a_sentence_that_opens_to_its_evidence() -> None:
    found = re.findall(r'<summary><a id="finding-\d+"></a><b>\d+\.</b> (.*)</summary>', PAGES["README"])
    assert found and [text for text in found if len(text.split()) > 25 or re.search(r"[`*\[]", text)] == []


def test_no_picture_is_described_with_the_numbers_of_another_trace() -> None:
    wrong = []
    for name, words in (found for page in PAGES.values() for found in PICTURE.findall(page)):
        trace = unquote(name).removesuffix(".png").partition("_")[2]
        named = set(re.findall(r"” \((venus|philly|w2|chrslo|philly-vcs|itp)\)\. ", words))
        wrong += [name] if named - {trace} else []
    assert wrong == []


def test_pictures_of_several_traces_say_what_came_out_on_their_own() -> None:
    several = {entry.id: entry.title for key in FURTHER for entry in ENTRIES[key] if entry.found}
    assert len(several) == 22
    said = {}
    for name, words in (found for page in PAGES.values() for found in PICTURE.findall(page)):
        figure, _, trace = unquote(name).removesuffix(".png").partition("_")
        if figure in several:
            said[name] = words.removeprefix(html.escape(several[figure], quote=True)).lstrip(". ")
            assert said[name].startswith(f"On {TRACES[trace]}, "), name
    texts = [re.sub(r"^On [\w-]+", "", words) for words in said.values()]
    assert len(texts) > 100
    assert [text for text, many in Counter(texts).items() if many > 1] == []


def test_panels_of_a_figure_have_words_of_their_own() -> None:
    words = dict(PICTURE.findall(PAGES["narayanan2020"]))
    a, b = (words[f"gavel13{letter}_continuous-single.png"] for letter in "ab")
    assert "shorter rounds" in a and "ideal allocation" not in a
    assert "ideal allocation" in b and "shorter rounds" not in b


@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_as_wide_as_a_page_and_at_most_two_stand_before_a_fold(name: str) -> None:
    widths = {int(width) for width in re.findall(r'<img [^>]*width="(\d+)"', PAGES[name])}
    assert min(widths, default=640) >= 640
    visible = re.split(r"<details>.*?</details>", PAGES[name], flags=re.DOTALL)
    assert [part for part in visible if len(PICTURE.findall(part)) > 2 or len(part.splitlines()) > 60] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file(name: str) -> None:
    links = [a or b for a, b in LINK.findall(PAGES[name])]
    assert links
    for link in links:
        place, _, anchor = unquote(link).partition("#")
        target = (FIGURES / (place or f"{name}.md")).resolve()
        assert target.exists() and target.is_relative_to(ROOT), link
        assert not anchor or PAGES[target.stem].count(f'<a id="{anchor}">') == 1, link


def test_every_picture_is_shown_once_in_words_and_fits_a_printed_page() -> None:
    shown = [found for page in PAGES.values() for found in PICTURE.findall(page)]
    files = sorted(FIGURES.glob("*.png"))
    assert Counter(unquote(name) for name, _ in shown) == Counter(path.name for path in files)
    assert [name for name, words in shown if len(words) < 20 or "](" in words] == []
    for path in files:
        with Image.open(path) as picture:
            dpi = float(picture.info["dpi"][0])
            assert dpi == pytest.approx(DPI, abs=0.05) and picture.width / dpi <= 7.01, path


def test_the_first_page_is_short_and_names_all_others() -> None:
    assert len(re.sub(r"<details>.*?</details>", "", PAGES["README"], flags=re.DOTALL).splitlines()) <= 120
    assert all(f"]({name}.md)" in PAGES["README"] for name in PAGES if name != "README")


def test_the_notebook_of_a_figure_saves_it() -> None:
    sources = {}
    for path in notebooks().values():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources[path.stem] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    files = {path.stem.partition("_")[0] for path in FIGURES.glob("*_*.csv")}
    for entry in EVERY:
        assert (ROOT / entry.code).is_file(), entry.id
        mine = [name for name in files if entry.has(name)]
        assert mine, entry.id
        for name in mine if entry.notebook else ():
            assert f'"{name}"' in sources[entry.notebook], name
