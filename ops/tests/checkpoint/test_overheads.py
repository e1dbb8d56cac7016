"""The measured cost of a lease for a training script: ops/docs/live/measure_overheads.py."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from places import OPS
from processes import run

from astraea.cli.arguments import measured_overheads

SCRIPT = OPS / "docs" / "live" / "measure_overheads.py"
TRAIN = """
import time
from astraea_ops.checkpoint import checkpointed
state = {{"steps": 0}}
with checkpointed(state, {options}) as saves:
    {loop}
        time.sleep(0.02)
        state["steps"] += 1
        {end}
"""
FOR = {"options": "every=60", "loop": "for _ in saves.steps(100_000):", "end": "pass"}
WHILE = {"options": "every=0.1", "loop": "while True:", "end": "saves.step()"}


def measure(folder: Path, *options: str, **code: str) -> Any:
    (folder / "train.py").write_text(TRAIN.format(**code))
    words = ("--out", "measured.json", "--repeats", "2", "--notice", "0.3", *options)
    return run(sys.executable, SCRIPT, *words, "train.py", cwd=folder, check=False)


@pytest.mark.parametrize("code", [FOR, WHILE], ids=["for", "while"])
def test_a_lease_is_measured(tmp_path: Path, code: dict[str, str]) -> None:
    done = measure(tmp_path, **code)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "cold_start", "restore", "save", "lost", "checkpoint",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["measured.json", "train.py"]
    found = json.loads((tmp_path / "measured.json").read_text())
    assert (found["script"], found["repeats"], found["saved_in_time"], found["notice"]) == ("train.py", 2, 2, 0.3)
    assert found["device"].startswith("CPU") and found["state_bytes"] > 0
    for part in ("cold_start", "restore", "save", "lost", "step"):
        assert 0 <= found[part]["least"] <= found[part]["median"] <= found[part]["most"]
    used = measured_overheads(tmp_path / "measured.json")
    assert used["checkpoint_overhead"] == found["save"]["median"]
    assert used["restart_overhead"] >= found["cold_start"]["least"]


def events(*steps: tuple[float, float, int]) -> list[dict[str, Any]]:
    """A process that enters the `with` at 3 and trains from 4 on: end of each step, end and size of saves."""
    found = [{"what": "enter", "at": 3.0, "device": "CPU"}, {"what": "begin", "at": 4.0, "saved": 0}]
    for end, begin, size in steps:
        found += [{"what": "end", "at": end}, {"what": "begin", "at": begin, "saved": size}]
    return found


FIRST = ((9.0, 9.5, 7), (11.5, 11.5, 0), (13.5, 13.5, 0))
"""A step of 5 s, its save of half a second, and two steps of 2 s."""


@pytest.mark.parametrize(
    ("later", "save", "lost"),
    [
        # told at 14, over at 20: the step from 13.5 on is saved at 16.5, and the two after it are lost
        (((15.5, 16.5, 7), (18.5, 18.5, 0)), 1.0, 3.5),
        # one more is saved when the process is stopped
        (((15.5, 16.5, 7), (18.5, 19.25, 7)), 1.0, 0.75 + 0.75),
        # the step does not end in time: all since the save before is lost
        ((), None, 10.5),
    ],
)
def test_the_time_of_a_lease_is_split(later: tuple[Any, ...], save: float | None, lost: float) -> None:
    parts = runpy.run_path(str(SCRIPT))["parts"](events(*FIRST, *later), began=1.0, told=14.0, over=20.0)
    assert (parts["save"], parts["lost"]) == (save, lost)
    # Python took 2 s to come to the `with`, and the first step 3 s more than the others
    assert (parts["cold_start"], parts["restore"], parts["step"], parts["state_bytes"]) == (5.0, 1.0, 2.0, 7)


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ([], FOR | {"loop": "for _ in saves.steps(4):"}, "train.py: ended by itself (it said nothing)"),
        ([], FOR | {"end": "raise ValueError('no data')"}, "train.py: ended by itself (ValueError: no data)"),
        ([], FOR | {"options": "last_store=True"}, "last_store: its saves"),
        (["--repeats", "0"], FOR, "expected --repeats of at least 1"),
        (["--notice", "nan"], FOR, "--notice from 0 to 3600, got 2 and nan"),
        (["--folder", "none"], FOR, "none: expected a folder that exists"),
        (["--out", "none/measured.json"], FOR, "none: expected a folder that exists"),
        (["other.py"], FOR, "expected a training script, got other.py"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    tmp_path: Path, options: list[str], code: dict[str, str], sentence: str
) -> None:
    done = measure(tmp_path, *options, **code)
    (said,) = done.stderr.splitlines()
    assert done.returncode == 2 and said.startswith("measure_overheads.py: ") and sentence in said
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]
