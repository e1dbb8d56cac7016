"""Workloads that many notebooks begin with, made once: the process that kernels are forked from imports this."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

from astraea.core.errors import InputError
from papers.scales import seeds
from papers.ye2022.evaluation import load_workload

VARIABLE: Final = "ASTRAEA_WORKLOADS"
"""Environment variable that names them to that process."""


def announce(traces: Iterable[str], scale: str) -> None:
    """Name the traces of notebooks that are to run, before the first of them does; those of one alone it makes itself.

    Parameters
    ----------
    traces : iterable of str
        As in `evaluation.load_workload`, one for each notebook.
    """
    os.environ[VARIABLE] = json.dumps([(name, scale) for name, count in Counter(traces).items() if count > 1])


for _name, _scale in json.loads(os.environ.get(VARIABLE, "[]")):
    with contextlib.suppress(InputError):  # it comes again in the notebook
        for _seed in seeds(_name, _scale):
            load_workload(_name, _scale, _seed)
