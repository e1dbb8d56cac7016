"""Saves: whole or not there, at their pace, whatever happens to the disk."""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from checkpoint_jobs import Counter, count, saved

from astraea.checkpoint import checkpointed


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    assert count(tmp_path / "a", 10, until=6)["value"] == 6
    state = count(tmp_path / "a", 10)
    assert (state["value"], state["part"].value) == (10, 100)
    assert count(tmp_path / "a", 10)["value"] == 10  # nothing is left to do, and the state is there


def test_an_object_is_restored_in_place() -> None:
    one = Counter()
    with checkpointed(one) as saves:
        for _ in saves.steps(3):
            one.value += 1
    other = Counter()
    with checkpointed(other) as saves:
        assert (saves.done, other.value) == (3, 3)
    assert saved(Path("checkpoints/local")) == [1, 3]


def test_a_pair_of_functions_writes_a_file_of_its_own() -> None:
    value = {"now": "0"}

    def save(path: Path) -> None:
        path.write_text(value["now"])

    def load(path: Path) -> None:
        value["now"] = path.read_text()

    for expected in ("0", "2", "4"):
        with checkpointed((save, load)) as saves:
            assert value["now"] == expected
            for step in saves.steps(saves.done + 2):
                value["now"] = str(step + 1)
        value["now"] = "lost"
    assert sorted(path.read_text() for path in Path("checkpoints/local").iterdir()) == ["4", "6"]


def test_a_step_that_is_left_is_not_saved_unless_it_is_told_to_have_ended() -> None:
    state = {"value": 0}
    with checkpointed(state) as saves:
        for step in saves.steps(5):
            if step == 2:
                break
    assert (saves.done, saved(saves.folder)) == (2, [1])
    with checkpointed(state) as saves:
        for _ in saves.steps(5):
            saves.step()
            break
    assert (saves.done, saved(saves.folder)) == (2, [1, 2])
    with checkpointed(state) as saves:  # a loop of one's own
        while saves.done < 5:
            state["value"] += 1
            saves.step()
    assert (state["value"], saved(saves.folder)) == (3, [2, 5])


def test_the_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step, then 300 seconds after a save, then the end."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    state = {"value": 0}
    seen = []
    with checkpointed(state, 300, tmp_path) as saves:
        for _ in saves.steps(10):
            clock[0] += 100
            seen.append(saved(tmp_path))
    assert seen == [[], [1], [1], [1], [1, 4], [1, 4], [1, 4], [4, 7], [4, 7], [4, 7]]
    assert saved(tmp_path) == [7, 10]
    with checkpointed(state, 300, tmp_path) as saves:
        for _ in saves.steps(12):
            assert saved(tmp_path) == [7, 10]  # what was restored need not be saved


def test_what_a_kill_left_is_removed_and_other_files_are_not(tmp_path: Path) -> None:
    count(tmp_path, 9, until=3)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    count(tmp_path, 9, until=4)
    for path, content in kept.items():
        path.write_bytes(content)
    assert saved(tmp_path) == [2, 3, 4]
    (tmp_path / "unfinished-1").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    assert count(tmp_path, 9, until=4)["value"] == 4
    assert sorted(path.name[:15] for path in tmp_path.iterdir()) == ["notes.txt", "step-0000000003", "step-0000000004"]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "unreadable"])
def test_a_damaged_save_falls_back(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    count(tmp_path, 9, until=6)
    newest = max(tmp_path.iterdir())
    content = newest.read_bytes()
    if damage == "unreadable":
        newest.unlink()
        newest.mkdir()
        assert count(tmp_path, 9, until=5)["value"] == 5
        assert f"{newest}: cannot be read" in caplog.text
        return
    newest.write_bytes({"cut": content[:-1], "changed": b"?" + content[1:], "empty": b""}[damage])
    assert count(tmp_path, 9, until=5)["value"] == 5
    assert [r.levelname for r in caplog.records if f"{newest}: damaged" in r.message] == ["WARNING"]
    # the save of the same step takes its place, and the whole one before it stays
    assert count(tmp_path, 9, until=6)["value"] == 6
    assert saved(tmp_path) == [5, 6]
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    assert count(tmp_path, 9, until=0)["value"] == 0  # no whole save at all is the beginning


def test_a_full_disk_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full in steps 3 and 4, as the flush to it tells."""
    flush, state, seen = os.fsync, {"value": 0}, []

    def full(handle: int) -> None:
        if state["value"] in (3, 4):
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", full)
    with checkpointed(state, 0, tmp_path) as saves:
        for _ in saves.steps(6):
            state["value"] += 1
            seen.append(saved(tmp_path))
    assert seen == [[], [1], [1, 2], [1, 2], [1, 2], [2, 5]]
    assert [r.levelname for r in caplog.records if "No space left" in r.message] == ["WARNING"] * 2
    assert saved(tmp_path) == [5, 6]


def test_torch_tells_a_full_disk_in_another_way(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def save(path: Path) -> None:
        raise RuntimeError("file write failed")

    with checkpointed((save, lambda path: None), 0, tmp_path) as saves:
        for _ in saves.steps(2):
            pass
    assert caplog.text.count("file write failed") == 3  # two steps and, once more, the end


def test_what_cannot_be_pickled_is_known_after_the_first_step(tmp_path: Path) -> None:
    with (
        pytest.raises((TypeError, AttributeError), match="pickle"),
        checkpointed({"value": lambda: 0}, 300, tmp_path) as saves,
    ):
        for step in saves.steps(2):
            assert step == 0
    with checkpointed({}, 300, tmp_path) as saves:
        assert saves.done == 0


def test_a_state_that_does_not_fit_the_save_is_an_error(tmp_path: Path) -> None:
    count(tmp_path, 2)
    with (
        pytest.raises(ValueError, match="has no scheduler") as error,
        checkpointed({"scheduler": Counter()}, 0, tmp_path),
    ):
        pass
    assert str(tmp_path) in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("state", "options", "says"),
    [
        (3, {}, "state: 3 cannot be saved; expected"),
        ((1, 2), {}, "cannot be saved"),
        ({}, {"every": -1}, "every: -1 is not"),
        ({}, {"every": float("nan")}, "every: nan is not"),
        ((print, print), {"last_store": True}, "last_store: needs a state that can be pickled"),
    ],
)
def test_what_cannot_be_used_is_refused(state: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)), checkpointed(state, **options):
        pass
    assert not Path("checkpoints").exists()


def test_only_rank_0_saves_and_all_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_PROCID", "RANK"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            count(tmp_path / "saves", 3)
            assert not (tmp_path / "saves").exists()
    monkeypatch.setenv("SLURM_PROCID", "0")
    count(tmp_path / "saves", 3)
    assert saved(tmp_path / "saves") == [2, 3]
    monkeypatch.setenv("RANK", "1")  # torchrun starts the ranks within one task of Slurm
    assert count(tmp_path / "saves", 5)["value"] == 5
    assert saved(tmp_path / "saves") == [2, 3]


def test_a_requeued_job_finds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def folder() -> str:
        with checkpointed({}) as saves:
            return saves.folder.as_posix()

    assert folder() == "checkpoints/local"
    monkeypatch.setenv("SLURM_JOB_ID", "71")
    assert folder() == "checkpoints/71"
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "70")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert folder() == "checkpoints/70_3"
