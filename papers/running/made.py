"""What committed figures of real workloads were made from: the file ``made_<trace>.json`` beside them.

It has the command, the digests of the trace and of the code, and the checksum of every file. Who changes the code makes
them anew (`make real`), or a test says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from astraea.core.files import write_atomically
from papers.running import notebooks
from papers.ye2022.evaluation import load_workload

SHOWN: Final = (
    "03_lease_term", "04a_fairness", "04b_fairness_experiments", "05_efficiency", "06_cluster_size",
)  # fmt: skip
"""Notebooks whose figures of a real workload stand in the gallery: the evaluation, Figs 9 to 14."""


def code(root: Path) -> str:
    """Return the digest of the code that decides these figures: the cells of the notebooks, and what they can reach."""
    cells = (notebooks.read(root / "notebooks" / f"{name}.ipynb") for name in SHOWN)
    return sha256(" ".join(notebooks.code_of(found).digest for found in cells).encode()).hexdigest()


def write(folder: Path, root: Path, trace: str, command: str, files: Mapping[str, str], *, name: str) -> Path:
    """Write what the figures of a workload were made from; `files` are their names and SHA-256."""
    about = {"command": command, "trace": trace, "trace_sha256": load_workload(trace)[0].digest, "code": code(root)}
    path = folder / f"made_{name}.json"
    write_atomically(path, json.dumps({**about, "files": dict(sorted(files.items()))}, indent=1) + "\n")
    return path
