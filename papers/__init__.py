"""Reproduce four papers: run their systems, make their figures and judge their claims."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""The checkout that this lies in."""

# a reader's own pictures replace neither the committed ones nor lie beside the notebook
os.environ.setdefault("ASTRAEA_FIGURES", str(ROOT / "build" / "figures"))


def notebooks(root: Path = ROOT) -> dict[str, Path]:
    """Return the notebooks that make figures, of both packages, by name."""
    found = [path for folder in ("notebooks", "ops/notebooks") for path in root.glob(f"{folder}/[0-9]*.ipynb")]
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}
