"""Whether pictures are also written as PDF, which a paper takes and nothing here needs."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "ASTRAEA_PDF"
"""Environment variable, which reaches the kernels of notebooks: PDFs are written if it is set, to whatever."""


def with_pdf() -> bool:
    """Whether PDFs are wanted."""
    return bool(os.environ.get(VARIABLE))
