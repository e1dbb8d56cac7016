"""What others need to carry the project on is there and agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import ROOT

import astraea

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {astraea.__version__}\n" in citation
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == astraea.__version__


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_that_exist(path: Path) -> None:
    targets = {t for step in steps(path) for t in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert targets and all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets)
    assert all(("run" in step) != ("uses" in step) for step in steps(path))


def test_workflows_try_every_python_that_is_supported() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert pythons == named and project["requires-python"].startswith(f">={pythons[0]}.")


def test_hooks_run_tools_of_the_environment() -> None:
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    tools = [hook["entry"].split()[0] for repo in repos for hook in repo["hooks"]]
    assert tools and all(f"$(BIN)/{Path(tool).name}" in MAKEFILE for tool in tools)


