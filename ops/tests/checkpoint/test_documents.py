"""The documents on checkpoints say the truth."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from checkpoint_jobs import STEPS, Counter, process, read_until, saved
from places import OPS

from astraea_ops import checkpoint
from astraea_ops.checkpoint import checkpointed

LIVE = OPS / "docs" / "live"
PAGE = (LIVE / "checkpoints.md").read_text(encoding="utf-8")
SCRIPT = next(text for text in re.findall(r"```sh\n(#!/bin/bash.*?)```", PAGE, re.S))


def test_a_process_that_listens_from_its_batch_script(tmp_path: Path) -> None:
    """The documents' scripts survive a signal at any time, also before Python listens."""
    (tmp_path / "train.py").write_text(
        "import time; print('early'); time.sleep(0.2)\n" + STEPS.format(last_store=False, work="time.sleep(0.02)")
    )
    (tmp_path / "train.sbatch").write_text(SCRIPT)
    with process("train.sbatch", cwd=tmp_path, program="bash") as started:
        read_until(started, "early")
        started.send_signal(signal.SIGUSR1)
        read_until(started, "in step 3")
        started.send_signal(signal.SIGUSR1)
        read_until(started, ": saved")
    assert saved(tmp_path / "saves")[-1] >= 4


def test_every_batch_script_is_that_of_the_document() -> None:
    for path in sorted(LIVE.glob("*.sbatch")):
        lines = [line.split("  #")[0].rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
        for line in SCRIPT.splitlines():
            assert line.replace("train.py", f"{path.stem}.py") in lines, (path, line)
        assert path.with_suffix(".py").is_file()


def test_the_example_gives_the_model_of_an_uninterrupted_one(tmp_path: Path) -> None:
    command = (LIVE / "train_sklearn.py", "--epochs", "60", "--samples", "2000")

    def model(folder: Path) -> tuple[bytes, bytes, float]:
        state: dict[str, Any] = {}
        with checkpointed(state, folder=folder / "checkpoints" / "local") as saves:
            assert saves.done == 60
        return state["model"].coef_.tobytes(), state["model"].intercept_.tobytes(), state["model"].t_

    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    with process(*command, cwd=tmp_path / "whole") as started:
        read_until(started, "0060-")
    with process(*command, cwd=tmp_path / "parts") as started:
        read_until(started, "epoch 5 ")
        started.send_signal(signal.SIGUSR1)
        read_until(started, ": saved")
    with process(*command, cwd=tmp_path / "parts") as started:
        text = read_until(started, "0060-")
    restored = re.search(r"restored, (\d+) steps", text)
    assert restored is not None
    assert 5 <= int(restored[1]) < 60
    assert "epoch 1 of" not in text
    assert model(tmp_path / "whole") == model(tmp_path / "parts")


def test_the_example_of_pytorch_loses_nothing_to_sigterm(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = (LIVE / "train_pytorch.py", "--epochs", "40", "--samples", "2000")
    losses = []
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
        if name == "parts":
            with process(*command, cwd=tmp_path / name) as started:
                read_until(started, "epoch 5 ")
                started.terminate()
                assert started.wait() == 128 + signal.SIGTERM
        with process(*command, cwd=tmp_path / name) as started:
            losses.append(read_until(started, "epoch 40 ").splitlines()[-1])
    assert losses[0] == losses[1]


def test_the_documents_code_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.S)[0]  # the other one: test_signals.py
    assert code.split() == (checkpoint.__doc__ or "").split("::\n\n")[1].split("\n\nAt the start")[0].split()
    trained = []
    names = {"model": Counter(), "optimizer": Counter(), "train": lambda *parts: trained.append(parts)}
    exec(compile(code, "checkpoints.md", "exec"), names)
    assert len(trained) == 100
    assert saved(Path("checkpoints/local")) == [1, 100]


def test_importing_it_imports_nothing_else(tmp_path: Path) -> None:
    code = "import sys, signal, astraea_ops.checkpoint; print(signal.getsignal(signal.SIGUSR1), *sys.modules)"
    with process("-c", code, cwd=tmp_path) as started:
        handler, *loaded = read_until(started, "astraea").split()
    assert handler == str(signal.SIG_DFL)
    ours = {name for name in loaded if name.startswith("astraea")}
    assert ours - {"astraea_ops"} == {name for name in ours if name.startswith("astraea_ops.checkpoint")}
    known = {*sys.stdlib_module_names, "astraea_ops", "__main__", "sitecustomize"}
    assert {name for name in loaded if name.split(".")[0] not in known and not name.startswith("_")} == set()


def test_a_copy_beside_a_script_needs_no_package(tmp_path: Path) -> None:
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(OPS / "astraea_ops" / "checkpoint", tmp_path / "checkpoint", ignore=without)
    (tmp_path / "train.py").write_text(
        "import sys; from checkpoint import checkpointed\n"
        "with checkpointed({'value': 0}, folder='saves') as saves:\n    for step in saves.steps(3): pass\n"
        "print('loaded', *(name for name in sys.modules if name.startswith('astraea')), 'done')"
    )
    with process("train.py", cwd=tmp_path) as started:
        assert "loaded done" in read_until(started, "done")
    assert saved(tmp_path / "saves") == [1, 3]
