"""README and docs/ as a new user reads them: their commands parse, their code runs, their files exist."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement
from places import OPS, ROOT

import astraea
from astraea.cli.main import app
from astraea.experiments import cache as cached
from astraea.traces.readers import formats

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(OPS.glob("docs/**/*.md")))
}
TEXT = "\n".join(PAGES.values())
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.S)
SHELL = "\n".join(text for kind, text in BLOCKS if kind == "sh").replace("\\\n", " ")
# what a training script needs is run by ops/tests/checkpoint, a policy for a real cluster by ops/tests/live, and dask's
# workers by tests/astraea/experiments
OWN = "def small_first(s):"  # a policy in a file, which the next example imports
ELSEWHERE = ("astraea_ops.checkpoint", "StatefulDataLoader", "def least_time(s):", "tcp://host:8786", OWN)
PYTHON = [text for kind, text in BLOCKS if kind == "python" and not any(words in text for words in ELSEWHERE)]
CSV = next(text for kind, text in BLOCKS if kind == "csv")

LEFT = re.compile(r"\b(TODO|FIXME|TBD|XXX+|lorem ipsum|fill (this |me )?in|[A-Z]{3,}_[A-Z]{3,})\b|<your[ -]|\?\?\?")
"""Text that somebody still has to replace; capitals with a low line are such names if they are no code."""

PROGRAMS = {"astraea": app}
COMMANDS = [x.split("#")[0].strip() for x in SHELL.splitlines() if x.startswith(tuple(f"{name} " for name in PROGRAMS))]
COMMANDS += re.findall(rf"`((?:{'|'.join(PROGRAMS)}) [a-z][^`]*)`", TEXT)


@pytest.mark.parametrize("line", dict.fromkeys(COMMANDS))
def test_every_command_parses(line: str) -> None:
    name = next(name for name in PROGRAMS if line.startswith(name))
    command: click.Command = PROGRAMS[name]
    context, rest = None, shlex.split(line.removeprefix(name))
    while isinstance(command, click.Group):
        context = command.make_context(name, rest, parent=context, resilient_parsing=False)
        rest = context._protected_args + context.args
        if command.invoke_without_command and not rest:
            return
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None, rest
        command = found
    assert command.make_context(command.name, rest, parent=context).command is command


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_every_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("jobs.csv").write_text(CSV)
    Path("small_first.py").write_text(next(text for _, text in BLOCKS if OWN in text))
    Path("figures").symlink_to(ROOT / "figures")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    is_summary = "average JCT" in printed or "average_jct" in printed or "assert " in code
    picture = Path("fig10.pdf").read_bytes() if Path("fig10.pdf").exists() else b""
    assert not picture or (b"/FontFile2" in picture and b"/Type3" not in picture)  # as IEEE and ACM ask
    uses_figures = bool(picture) or "notebook 04a_fairness" in printed
    assert is_summary or uses_figures or ("total_revenue" in code and float(printed.split()[0]) > 0)


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if ">>>" in text])
def test_every_session_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "CACHE", tmp_path)
    code = "\n".join(re.findall(r"```pycon\n(.*?)```", PAGES[page], re.S))
    session = doctest.DocTestParser().get_doctest(code, {}, page, None, None)
    assert session.examples and doctest.DocTestRunner(verbose=False).run(session).failed == 0


def test_the_table_of_schedulers_is_made_from_what_they_declare() -> None:
    """After a change, write the wanted table into docs/schedulers.md."""
    table = astraea.policies().drop(columns="parameters").replace({True: "yes", False: "no"}).reset_index()
    wanted = [" | ".join([f"| `{name}`", *texts]) + " |" for name, *texts in table.to_numpy().tolist()]
    _, _, rest = PAGES["docs/schedulers.md"].partition("\n| name | what it does |")
    _, _, *rows = rest.partition("\n\n")[0].splitlines()
    assert rows == wanted


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere_and_nothing_is_left_to_fill_in(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGES[page])
    folder = (ROOT / page).parent
    assert [link for link in links if not link.startswith("http") and not (folder / link).exists()] == []
    text = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$", "", PAGES[page], flags=re.S)
    assert [found[0] for found in LEFT.finditer(text)] == []


def test_the_readme_is_one_page_and_leads_to_all_others() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 100
    assert [page for page in PAGES if page != "README.md" and f"]({page})" not in PAGES["README.md"]] == []


def test_every_format_is_described() -> None:
    assert tuple(re.findall(r"^\| `([a-z][\w-]+)` \|", PAGES["docs/your_own_trace.md"], re.M)) == formats()


def test_every_make_target_exists() -> None:
    workflows = "".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    named = set(re.findall(r"make ([a-z-]+)", SHELL + " ".join(re.findall(r"`make [^`]*`", TEXT)) + workflows))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "release" in named and named <= set(re.findall(r"^([a-z-]+):", makefile, re.M))


def test_every_dependency_has_a_reason() -> None:
    lines = [line for line in PAGES["docs/dependencies.md"].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert [row for row in rows if len(row) != 3 or not re.search("[a-z]{3}", row[2])] == []
    named = [name for names, *_ in rows for name in re.findall(r"[a-z][a-z0-9-]+", names)]
    lines = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    assert sorted(named) == sorted({Requirement(line).name for line in lines if line and not line.startswith("#")})
