"""One notebook of the project: its parameters, what its outputs depend on, and a run without a person."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from astraea.core import source
from papers.notebook_cells import Cell, read


class Outcome(NamedTuple):
    """The end of a run: the executed notebook, the time [s], and what went wrong in a sentence, or nothing."""

    executed: Path
    seconds: float
    error: str = ""


def parameter_names(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Names that the cell with the tag `parameters` sets."""
    for cell in cells:
        if "parameters" in cell.tags:
            return tuple(re.findall(r"^(\w+)\s*(?::[^=\n]+)?=", cell.source, re.MULTILINE))
    return ()


def digest(cells: Iterable[Cell], parameters: Mapping[str, Any], files: Iterable[Path], root: Path) -> str:
    """SHA-256 of all that the outputs depend on.

    These are the cells, the parameters, the modules of the project, and the version of Python.
    Files are the lock file, the table of statements, tables of `data` that a cell names, and `files`.
    """
    cells = tuple(cells)
    h = hashlib.sha256(code().encode())
    for cell in cells:
        h.update(f"{cell.cell_type}\0{cell.source}\0".encode())
    h.update(repr((sorted(parameters.items()), sys.version_info[:3])).encode())
    named = (p for p in sorted((root / "data").glob("*.csv")) if any(f'"{p.name}"' in c.source for c in cells))
    for path in (root / "requirements.lock", root / "data" / "claims.csv", *named, *sorted(files)):
        if path.is_file():
            h.update(f"\0{path.name}\0".encode())
            with path.open("rb") as file:
                h.update(hashlib.file_digest(file, "sha256").digest())
    return h.hexdigest()


@cache
def code() -> str:
    """SHA-256 of the modules of the project, and of their data."""
    h = hashlib.sha256()
    folders = (source.ROOT / folder for folder in ("astraea", "ops/astraea_ops", "papers"))
    for path in sorted(p for folder in folders for p in folder.rglob("*")):
        if path.suffix in (".jinja", ".mplstyle", ".py", ".toml"):
            h.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return h.hexdigest()


def run(notebook: Path, output: Path, parameters: Mapping[str, Any]) -> Outcome:
    """Execute a notebook in its folder, and keep the executed one at `output`.

    Never raises for what happens inside: the sentence names the cell, counted from 1 in the source, and the error.
    """
    began = time.perf_counter()
    os.environ.setdefault("IPYTHONDIR", str(source.ROOT / "notebooks" / ".ipython"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    places = [str(source.ROOT), str(source.ROOT / "ops")]  # the kernel imports both packages, also if not installed
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *(p for p in paths if p and p not in places)])
    import papermill  # takes a second
    from papermill.engines import papermill_engines

    from papers.running.engine import Engine

    logging.getLogger("papermill").setLevel(logging.ERROR)
    output.parent.mkdir(parents=True, exist_ok=True)
    error = ""
    papermill_engines.register("astraea", Engine)
    try:
        papermill.execute_notebook(
            str(notebook), str(output), dict(parameters), engine_name="astraea", kernel_name="python3",
            language="python", progress_bar=False,
            resources={"metadata": {"path": str(notebook.parent)}},
        )  # fmt: skip
    except papermill.PapermillExecutionError as err:
        error = f"cell {_source_cell(output, err.cell_index)}: {err.ename}: {_first_line(err.evalue)}"
    except Exception as err:
        error = f"{type(err).__name__}: {_first_line(str(err))}"
    return Outcome(output, time.perf_counter() - began, error)


def _source_cell(executed: Path, index: int) -> int:
    """Position of a cell in the source, from 1, by its position in the executed notebook without the banner."""
    cells = [cell for cell in read(executed) if "papermill-error-cell-tag" not in cell.tags]
    injected = sum("injected-parameters" in cell.tags for cell in cells[: index + 1])
    return index + 1 - injected


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
