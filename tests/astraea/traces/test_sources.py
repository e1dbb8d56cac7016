"""Sources of downloads: each names its files, their commits and checksums."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from astraea.traces.named import nodes_of
from astraea.traces.sources import SOURCES


def test_every_source_is_well_formed() -> None:
    assert {name for name, source in SOURCES.items() if source.size and not source.untried} == {"philly"}
    assert {name for name, source in SOURCES.items() if not source.files} == {"frontier"}
    for source in SOURCES.values():
        assert bool(source.holds) == bool(source.files) != bool(source.by_hand)
        assert source.host.startswith("https://")
        assert not source.keep or len(source.files) == 1
        assert not source.keep or source.files[0].sha256 or set(source.members) == set(source.holds)
        for file in source.files:
            assert len(file.sha256) in (0, 64) and len(file.git_blob) in (0, 40)
            is_fixed = file.sha256 or any(len(part) == 40 for part in file.path.split("/"))
            assert is_fixed or source.untried, f"{file.path} names no commit"


def test_checksums_are_those_of_the_real_files(shared: Path) -> None:
    for name, folder in (("philly-vcs",) * 2, ("philly-chronus",) * 2, ("gavel-throughputs", "gavel")):
        for file in SOURCES[name].files:
            assert sha256((shared / "data" / folder / file.name).read_bytes()).hexdigest() == file.sha256
    for name, checksum in SOURCES["elasticflow"].members.items():
        assert sha256((shared / "data" / "elasticflow" / name).read_bytes()).hexdigest() == checksum


def test_only_names_have_nodes_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file hides the name of a download, and not that of a synthetic workload."""
    names = ("venus", "w2", "philly-vcs", "log.csv")
    monkeypatch.chdir(tmp_path)
    assert [nodes_of(name) for name in names] == [100, 64, 64, None]
    for name in names:
        Path(name).write_text("")
    assert [nodes_of(name) for name in names] == [100, None, None, None]
