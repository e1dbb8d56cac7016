"""The README as a new user reads it: its commands parse, its code runs, its files exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from places import ROOT

from astraea.cli.main import app

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)
SHELL = "\n".join(text for kind, text in BLOCKS if kind == "sh").replace("\\\n", " ")
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
CSV = next(text for kind, text in BLOCKS if kind == "csv")


COMMANDS = [x.split("#")[0].strip() for x in SHELL.splitlines() if x.startswith("astraea ")]
COMMANDS += re.findall(r"`(astraea [a-z][^`]*)`", README)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_parses(line: str) -> None:
    command: click.Command = app
    context, rest = None, shlex.split(line)[1:]
    while isinstance(command, click.Group):
        context = command.make_context("astraea", rest, parent=context, resilient_parsing=False)
        name, found, rest = command.resolve_command(context, context._protected_args + context.args)
        assert found is not None, name
        command = found
    assert command.make_context(command.name, rest, parent=context).params


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_every_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(CSV)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert "average_jct" in printed or ("total_revenue" in code and float(printed.split()[0]) > 0)


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`?make (\w+)", SHELL + " ".join(re.findall(r"`make [^`]*`", README))))
    assert {name for name in named if not re.search(rf"^{name}:", makefile, re.M)} == set()


def test_nothing_is_left_to_fill_in() -> None:
    prose = re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.S)
    assert re.findall(r"\b[A-Z]{3,}_[A-Z]{3,}\b", prose) == []
