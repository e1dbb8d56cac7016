"""A clock, and a real Slurm, for the tests of the coordinator."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_cluster import Clock
from live_slurm import RealSlurm, Site, local_slurm, said


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which Slurm was tested."""
    if config.getoption("markexpr") == "slurm":
        terminalreporter.write_line(f"Slurm: {local_slurm.version() or 'none on PATH'}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the coordinator a clock that only the test moves."""
    clock = Clock()
    monkeypatch.setattr("astraea_ops.live.coordinator.time", clock)
    return clock


@pytest.fixture(scope="session")
def real_slurm() -> Iterator[RealSlurm]:
    """A Slurm of this process of the tests."""
    if absent := local_slurm.missing():
        pytest.skip(f"no Slurm is installed here: {', '.join(absent)} missing")
    if os.geteuid() != 0:
        pytest.skip("nobody but root may start a Slurm of its own")
    at = Path(tempfile.mkdtemp(prefix="slurm-"))
    before = os.environ.get("SLURM_CONF")
    slurm = RealSlurm(at)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()
        shutil.rmtree(at, ignore_errors=True)
        if before is None:
            os.environ.pop("SLURM_CONF", None)
        else:
            os.environ["SLURM_CONF"] = before


@pytest.fixture
def site(real_slurm: RealSlurm) -> Iterator[Callable[..., Site]]:
    """Make a place for jobs and a coordinator."""
    made: list[Site] = []

    def make(**options: Any) -> Site:
        at = Path(tempfile.mkdtemp(prefix="live-"))
        made.append(Site(real_slurm, at, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
        print(one.log)
        print(said("sacct", "-a", "-X", "-D", "-P", "--format=JobID,Submit,Start,End,State"))
        real_slurm.clear()
        shutil.rmtree(one.at, ignore_errors=True)
