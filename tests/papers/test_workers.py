"""JOBS, BACKEND and SCHEDULER of make reach every sweep of a notebook, because its kernel reads them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import joblib
import nbformat
import pytest
from nbclient import NotebookClient
from places import ROOT
from processes import run

from astraea.core.errors import InputError
from papers.workers import VARIABLES, compute_as_asked


def jobs() -> Any:
    return joblib.parallel.get_active_backend()[1]


def test_the_environment_says_where_to_compute_until_it_is_closed() -> None:
    with compute_as_asked({"JOBS": "3", "BACKEND": ""}):
        assert jobs() == 3
    with compute_as_asked({}):
        assert jobs() not in (3, -1)  # as it was
    with compute_as_asked({"BACKEND": "loky"}):
        assert jobs() == -1


@pytest.mark.parametrize(
    ("given", "words"),
    [({"JOBS": "two"}, "whole number, got 'two'"), ({"JOBS": "0"}, "at least 1"), ({"BACKEND": "dask"}, "--scheduler")],
)
def test_what_cannot_be_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compute_as_asked(given)


def environment(**given: str) -> dict[str, str]:
    return {**os.environ, **dict.fromkeys(VARIABLES, ""), "IPYTHONDIR": str(ROOT / "notebooks" / ".ipython"), **given}


def test_a_kernel_of_make_computes_in_as_many_processes_as_asked() -> None:
    new: Any = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell("import joblib\njoblib.parallel.get_active_backend()[1]")])
    NotebookClient(notebook, kernel_name="python3").execute(env=environment(JOBS="1"))
    assert notebook.cells[0].outputs[0].data["text/plain"] == "1"


def test_a_kernel_that_cannot_compute_as_asked_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", str(tmp_path / "kernel.json")]
    ended = run(*command, env=environment(BACKEND="dask"), check=False)
    assert ended.returncode and "--backend dask needs the address of a scheduler" in ended.stderr
