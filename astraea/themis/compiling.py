"""The compiler of this package's functions, of which the listed files are made."""

from __future__ import annotations

from pathlib import Path

from astraea.kept import compiler

compiled = compiler(Path(__file__).parent, ("compiling", "auction"))
