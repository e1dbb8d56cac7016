"""Other Pythons of the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from processes import run


def python(version: str) -> str:
    """Find a Python such as 3.12, on the path or of pyenv; skip the test if there is none that works."""
    wanted = (shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in filter(None, wanted):
        if run(path, "-c", "", check=False).returncode == 0:
            return str(path)
    pytest.skip(f"there is no Python {version} here")
