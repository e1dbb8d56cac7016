"""Signals and kills at any moment, and threads."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from checkpoint_jobs import STEPS, Stopped, process, read_until, saved
from processes import wait_until

from astraea.checkpoint import checkpointed


def test_the_signal_saves_and_the_handler_of_before_comes_back(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with checkpointed({}, 1000, tmp_path) as saves:
            for step in saves.steps(5):
                if step == 2:
                    signal.raise_signal(signal.SIGUSR1)
                    assert saved(tmp_path) == [1]
                if step > 2:
                    assert saved(tmp_path) == [1, 3]
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
        with pytest.raises(Stopped), checkpointed({}, 1000, tmp_path):
            raise Stopped
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_signal_in_a_process_that_goes_on_and_is_killed(tmp_path: Path) -> None:
    with process("-c", STEPS.format(last_store=False, work="time.sleep(0.05)"), cwd=tmp_path) as started:
        read_until(started, "in step 5")
        started.send_signal(signal.SIGUSR1)
        read_until(started, ": saved")
        text = read_until(started, "in step")
        assert started.poll() is None
    done = saved(tmp_path / "saves")[-1]
    assert 6 <= done <= int(text.split()[-1])
    state = {"value": 0}
    with checkpointed(state, folder=tmp_path / "saves") as saves:
        assert saves.done == state["value"] == done


def test_the_last_store_does_not_wait_for_the_end_of_a_step(tmp_path: Path) -> None:
    """The third step is one long call of a library, which Python's handlers do not interrupt."""
    work = "step == 2 and __import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 10**9)"
    with process("-c", STEPS.format(last_store=True, work=work), cwd=tmp_path) as started:
        read_until(started, "in step 2")
        time.sleep(0.1)
        started.send_signal(signal.SIGUSR1)
        read_until(started, "2-")
    state = {"value": 0}
    with checkpointed(state, folder=tmp_path / "saves") as saves:
        assert saves.done == state["value"] == 2


def test_the_last_store_stores_the_step_too_when_it_ends(tmp_path: Path) -> None:
    state = {"value": 0}
    with checkpointed(state, 1000, tmp_path, last_store=True) as saves:
        for step in saves.steps(4):
            state["value"] += 1
            if step == 2:
                signal.raise_signal(signal.SIGUSR1)
                wait_until(lambda: saved(tmp_path) == [1, 2])
            if step == 3:
                assert saved(tmp_path) == [2, 3]
    assert "astraea last store" not in {thread.name for thread in threading.enumerate()}
    with checkpointed(state, folder=tmp_path) as saves:
        assert state["value"] == 4


def test_another_thread(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    found: list[Any] = []

    def work() -> None:
        with checkpointed({}, 1000, tmp_path, last_store=True) as saves:
            for step in saves.steps(4):
                if step == 2:
                    saves.save_soon()
        found.append(saved(tmp_path))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[3, 4]]
    assert "heard in the main thread only" in caplog.text
    assert signal.getsignal(signal.SIGUSR1) is before


SAVING = """
from astraea.checkpoint import checkpointed
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
