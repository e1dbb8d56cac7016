"""Reproduce four papers: run their systems, make their figures and judge their claims."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""The checkout that this lies in."""
