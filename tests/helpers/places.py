"""Folders that tests need."""

from __future__ import annotations

from pathlib import Path
from typing import Final

HELPERS: Final = Path(__file__).resolve().parent
ROOT: Final = HELPERS.parents[1]
OPS: Final = ROOT / "ops"
