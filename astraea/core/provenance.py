"""Where a result comes from."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import astraea


def provenance(inputs: Mapping[str, Any], *packages: str, source: str = "") -> dict[str, Any]:
    """Everything that one needs to get the same bytes again: what was simulated, then by which software.

    Parameters
    ----------
    inputs : mapping
        Workload, machines, policy, parameters, by name.
    *packages : str
        Those whose versions could decide a result.
    source : str
        Digest of the code that decides it, where it is known.
    """
    return {
        **inputs,
        "astraea": astraea.__version__,
        **({"source_sha256": source} if source else {}),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
