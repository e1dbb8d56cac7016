"""Claims of the papers and what came out: a folder for each paper, one way to judge, show and run them all."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""The checkout that this lies in."""
