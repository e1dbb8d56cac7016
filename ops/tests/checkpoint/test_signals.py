"""The notice and SIGTERM, sent as Slurm sends them: to every process of a step, helpers among them; and kills."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from textwrap import indent

import pytest
from checkpoint_jobs import process, read_until, saved
from places import OPS

PAGE = (OPS / "docs" / "live" / "checkpoints.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.S)

LONG = """
import logging, sys, time
from astraea_ops import checkpoint
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
checkpoint.notice._SAME = {same}
state = {{"value": 0}}
with checkpoint.checkpointed(state, 1000, "saves", signal="{name}") as saves:
    for step in saves.steps(4 if saves.done == 0 else 3):
        state["value"] += 1
        print("in step", step)
        end = time.monotonic() + {seconds} * (step == 2)
        while time.monotonic() < end:
            time.sleep(0.01)
print("after", state["value"])
"""


@pytest.mark.parametrize("name", ["USR1", "USR2", "HUP", "URG"])
def test_the_notice_is_any_signal_and_sigterm_leaves_after_the_step(name: str, tmp_path: Path) -> None:
    code = LONG.format(name=name, same=1000, seconds=1)
    with process("-c", code, cwd=tmp_path) as started:
        read_until(started, "in step 2")
        started.send_signal(getattr(signal, f"SIG{name}"))
        read_until(started, "0003-")
        assert started.wait() == 0
    for path in (tmp_path / "saves").iterdir():
        path.unlink()
    with process("-c", code, cwd=tmp_path) as started:
        read_until(started, "in step 2")
        for _ in range(3):  # srun and torchrun pass SIGTERM on
            started.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        text = read_until(started, "leaving after step 3")
        assert "0003-" in text
        assert started.wait() == 128 + signal.SIGTERM
        assert started.stdout is not None
        assert started.stdout.read() == ""
    assert saved(tmp_path / "saves") == [1, 3]
    with process("-c", code, cwd=tmp_path) as started:
        assert "after 3" in read_until(started, "after")


def test_a_later_sigterm_ends_at_once(tmp_path: Path) -> None:
    with process("-c", LONG.format(name="USR1", same=0, seconds=1000), cwd=tmp_path) as started:
        read_until(started, "in step 2")
        for _ in range(2):
            started.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        assert started.wait() == -signal.SIGTERM
    assert saved(tmp_path / "saves") == [1]


HELPERS = """
import logging, signal, sys, time
from multiprocessing import get_context
from subprocess import PIPE, Popen
from astraea_ops.checkpoint import checkpointed

def answer(pipe):
    while (number := pipe.recv()) is not None:
        pipe.send(number * number)

if __name__ == "__main__":
    way = sys.argv[1]
    state = {"value": 0}
    with checkpointed(state, 1000, "saves", last_store=sys.argv[2] == "True") as saves:
        if way == "program":
            helper = Popen(["cat"], stdin=PIPE, stdout=PIPE)
        else:
            context = get_context(way)
            ours, theirs = context.Pipe()
            helper = context.Process(target=answer, args=(theirs,))
            helper.start()
        for step in saves.steps(4):
            if way == "program":
                helper.stdin.write(b"x"), helper.stdin.flush()
                assert helper.stdout.read(1) == b"x"
            else:
                ours.send(step)
                assert ours.recv() == step * step
            print("in step", step, flush=True)
            if step == 1:
                time.sleep(1)
        helper.terminate()
        helper.wait() if way == "program" else helper.join()
        print("helper ended with", getattr(helper, "exitcode", None) or helper.returncode, flush=True)
"""


@pytest.mark.parametrize("last_store", [False, True])
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "program"])
def test_helpers_survive_the_notice_and_can_be_terminated(way: str, last_store: bool, tmp_path: Path) -> None:
    """Two notices come to the whole group of processes, as `scancel --signal` sends them to a step."""
    (tmp_path / "train.py").write_text(HELPERS)
    with process("train.py", way, str(last_store), cwd=tmp_path) as started:
        read_until(started, "in step 1")
        for _ in range(2):
            os.killpg(started.pid, signal.SIGUSR1)
            time.sleep(0.1)
        assert f"with {-signal.SIGTERM}" in read_until(started, "helper ended")
        assert started.wait() == 0
    assert saved(tmp_path / "saves") == [2, 4]


LOADER = """
import logging, signal, sys, time
import torch
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader
from astraea_ops.checkpoint import checkpointed

{document}

class Numbers(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        return index

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    context = sys.argv[1] if sys.argv[1] != "none" else None
    loader = StatefulDataLoader(
        Numbers(), batch_size=2, shuffle=True, num_workers=2 * (context is not None), multiprocessing_context=context,
        worker_init_fn=outlive_one_sigterm,
    )
    with checkpointed({{"loader": loader, "seen": []}}, 1000, "saves") as saves:
        seen = saves._state["seen"]
        while saves.done < 24:
            for batch in loader:
                seen += batch.tolist()
                print("in step", saves.done, flush=True)
                if saves.done == 16:
                    time.sleep(1)
                saves.step()
    print("seen", *seen, flush=True)
"""


@pytest.mark.parametrize("context", ["none", "fork", "spawn", "forkserver"])
def test_the_position_of_a_loader_is_part_of_the_state(context: str, tmp_path: Path) -> None:
    """A job and its workers are told and stopped in the second epoch; every sample is seen once an epoch."""
    pytest.importorskip("torchdata")
    (tmp_path / "train.py").write_text(LOADER.format(document=CODE[1].split("\nloader")[0]))
    with process("train.py", context, cwd=tmp_path) as started:
        read_until(started, "in step 16")
        os.killpg(started.pid, signal.SIGUSR1)
        time.sleep(0.1)
        os.killpg(started.pid, signal.SIGTERM)
        read_until(started, "leaving after step 17")
        assert started.wait() == 128 + signal.SIGTERM
    with process("train.py", context, cwd=tmp_path) as started:
        text = read_until(started, "seen")
    assert "in step 16" not in text
    seen = [int(number) for number in text.split("seen ")[1].split()]
    assert sorted(seen[:24]) == sorted(seen[24:]) == list(range(24))


RANKS = """
import logging, resource, sys, time
import torch, torch.distributed as dist
from astraea_ops.checkpoint import checkpointed

how, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
dist.init_process_group("gloo", init_method="file://" + sys.argv[4], rank=rank, world_size=size)
state = {{"value": torch.zeros(2)}}

def train(state):
    state["value"] += 1 + rank * (how == "parts")
    print("in step", saves.done, flush=True)
    if saves.done == 2:
        time.sleep(1)
        if how == "full" and rank == 0:  # no file may be longer
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

if how in ("dcp", "full"):
    model = state
    {document}
else:
    def save(folder):
        torch.save(state, folder / f"part-{{rank}}")
    def load(folder):
        state.update(torch.load(folder / f"part-{{rank}}"))
    with checkpointed((save, load) if how == "parts" else state, 1000, sharded=how == "parts") as saves:
        saves.done += rank * (how == "uneven")
        for step in saves.steps(6):
            train(state)
print("after", state["value"].tolist(), flush=True)
"""


def ranks(how: str, folder: Path) -> list[AbstractContextManager[subprocess.Popen[str]]]:
    """Two ranks of a distributed job, which meet in a file of their own."""
    code = CODE[2].replace("steps(100)", "steps(6)")
    (folder / "train.py").write_text(RANKS.format(document=indent(code, "    ").strip()))
    meeting = folder / f"meeting-{time.monotonic_ns()}"
    return [process("train.py", how, str(rank), "2", meeting, cwd=folder) for rank in range(2)]


@pytest.mark.parametrize("how", ["whole", "parts", "dcp"])
def test_a_signal_to_one_rank_is_enough_and_all_leave_together(how: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with ExitStack() as stack:
        first, second = (stack.enter_context(rank) for rank in ranks(how, tmp_path))
        read_until(second, "in step 2")
        second.terminate()
        assert "0003-" in read_until(first, "leaving after step 3")
        read_until(second, "leaving after step 3")
        assert (first.wait(), second.wait()) == (128 + signal.SIGTERM,) * 2
    assert saved(tmp_path / "checkpoints" / "local") == [1, 3]
    with ExitStack() as stack:
        first, second = (stack.enter_context(rank) for rank in ranks(how, tmp_path))
        assert "in step 3" in (text := read_until(first, "after [6.0, 6.0]"))
        assert "in step 2" not in text
        read_until(second, "after [12.0, 12.0]" if how == "parts" else "after [6.0, 6.0]")
    assert saved(tmp_path / "checkpoints" / "local") == [3, 6]


def test_a_disk_that_is_full_for_one_rank_is_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with ExitStack() as stack:
        for rank in [stack.enter_context(rank) for rank in ranks("full", tmp_path)]:
            assert "step 6 could not be saved" in read_until(rank, "after [6.0, 6.0]")
    assert saved(tmp_path / "checkpoints" / "local") == [1]


def test_ranks_that_restored_different_saves_are_an_error(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with ExitStack() as stack:
        for rank in [stack.enter_context(rank) for rank in ranks("uneven", tmp_path)]:
            read_until(rank, "ranks have done 1 to 2 steps")


SAVING = """
from astraea_ops.checkpoint import checkpointed
state = {"value": 0, "content": b""}
with checkpointed(state, 0, "saves") as saves:
    assert state["content"] == state["value"].to_bytes(8, "big") * 100_000 * (state["value"] > 0)
    print("restored", saves.done, state["value"])
    for step in saves.steps(10_000):
        state["value"] += 1
        state["content"] = state["value"].to_bytes(8, "big") * 100_000
        print("begins", step + 1)
"""


def test_a_kill_at_any_moment_of_saving(tmp_path: Path) -> None:
    """Step n has begun, so n - 1 is saved; n may be."""
    moments, done, unfinished, kills = random.Random(1), 0, 0, 0
    while kills < 10 or done <= 10 or unfinished == 0:  # until saves were interrupted too
        kills += 1
        assert kills < 500
        with process("-c", SAVING, cwd=tmp_path) as started:
            text = read_until(started, "restored")
            number, value = map(int, text.split()[1:])
            assert number == value
            assert done == 0 or number in (done - 1, done)
            read_until(started, "begins")
            time.sleep(moments.uniform(0, 0.05))
            started.kill()
            assert started.stdout is not None
            lines = [line for line in started.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        done = int(lines[-1].split()[1]) if lines else number + 1
        unfinished += any((tmp_path / "saves").glob("unfinished-*"))
        assert len(list((tmp_path / "saves").glob("step-*"))) <= 3
