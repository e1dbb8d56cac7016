"""Jobs that save, as functions and as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import processes
from places import OPS, ROOT

from astraea_ops.checkpoint import checkpointed


class Counter:
    """An object with a state, as PyTorch has them."""

    def __init__(self) -> None:
        self.value = 0

    def state_dict(self) -> dict[str, int]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.value = state["value"]


class Stopped(Exception):
    """Raised in place of a kill."""


def count(folder: Path, steps: int, until: int | None = None, every: float = 0, **options: Any) -> dict[str, Any]:
    """Count the steps; with `until`, the job is stopped after so many, as if killed."""
    state: dict[str, Any] = {"value": 0, "part": Counter()}
    try:
        with checkpointed(state, every, folder, **options) as saves:
            for step in saves.steps(steps):
                if step == until:
                    raise Stopped
                state["value"] += 1
                state["part"].value += 10
    except Stopped:
        pass
    return state


def saved(folder: Path) -> list[int]:
    """The steps that are saved; nothing else is in the folder."""
    names = [re.fullmatch(r"step-(\d+)-[0-9a-f]{16}\.checkpoint", path.name) for path in sorted(folder.iterdir())]
    return [int(name[1]) for name in names if name is not None] if all(names) else [-1]


def process(*command: str | Path, cwd: Path, program: str = "python") -> AbstractContextManager[subprocess.Popen[str]]:
    """A program that prints, Python by default; it does not outlive the test."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "PYTHONPATH": f"{ROOT}:{OPS}", "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return processes.started(program, *command, cwd=cwd, env=env, **pipes)


def read_until(started: subprocess.Popen[str], words: str) -> str:
    """Return the output of a process up to a line with these words."""
    assert started.stdout is not None
    text = ""
    for line in started.stdout:
        text += line
        if words in line:
            return text
    raise AssertionError(f"{words!r} did not come: {text}")


STEPS = """
import logging, time
from astraea_ops.checkpoint import checkpointed
logging.basicConfig(level=logging.INFO, format="%(message)s")
state = {{"value": 0}}
with checkpointed(state, 1000, "saves", last_store={last_store}) as saves:
    for step in saves.steps(1000):
        state["value"] += 1
        print("in step", step)
        {work}
"""
