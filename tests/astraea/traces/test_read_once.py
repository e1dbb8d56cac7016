"""A log is read and decoded once, whatever its size; of its beginning, the format is recognised."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from trace_samples import ASTRAEA, HELIOS, PHILLY, SACCT, SIZES, SSHARE, SWF

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace, recognise
from astraea.traces.readers.table import read_start

START = 1 << 16

@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the bytes that are taken from each file."""
    counts: Counter[str] = Counter()
    opened = io.open

    def counted(file: Any, mode: str = "r", *args: Any, **settings: Any) -> Any:
        found = opened(file, mode, *args, **settings)
        if mode != "rb":
            return found
        counts[Path(file).name] += 0

        class Counted(io.BufferedReader):
            def read(self, size: int | None = -1, /) -> bytes:
                data = super().read(size)
                counts[Path(file).name] += len(data)
                return data

            def readline(self, size: int | None = -1, /) -> bytes:
                data = super().readline(size)
                counts[Path(file).name] += len(data)
                return data

        return Counted(found.detach() if isinstance(found, io.BufferedReader) else found)

    monkeypatch.setattr(io, "open", counted)
    return counts


def long(known: str) -> str:
    """Make a log of a format that is much larger than what is read to recognise it."""
    if known == "philly":
        return json.dumps([{**job, "jobid": f"{job['jobid']}-{k}"} for k in range(500) for job in PHILLY])
    if known == "slurm":
        header, *rows = SACCT.splitlines()
        first = rows[0].split("|")
        place = header.split("|").index("JobID")
        return "\n".join([header, *("|".join([*first[:place], str(k), *first[place + 1 :]]) for k in range(1, 3000))])
    if known == "swf":
        row = next(line for line in SWF.splitlines() if line.strip() and line[0] != ";").split()
        return "\n".join([";" + "x" * 100_000, *(" ".join([str(k), *row[1:]]) for k in range(1, 9000))])
    header, first, *_ = ASTRAEA.splitlines()
    return "\n".join([header, *(",".join([str(k), *first.split(",")[1:]]) for k in range(5000))])


@pytest.mark.parametrize("known", ["philly", "slurm", "swf", "tiresias-csv"])
def test_a_log_is_read_once(known: str, tmp_path: Path, taken: Counter[str]) -> None:
    log = tmp_path / "log"
    log.write_text(long(known))
    size, most = log.stat().st_size, START + 200_000 * (known == "swf")
    assert size > 1.2 * most
    assert recognise(log) == known
    assert 0 < taken["log"] <= most + 2
    taken.clear()
    assert len(read_trace(log)) > 400
    assert size <= taken["log"] <= size + most + 2
    taken.clear()
    read_trace(log, known)
    assert taken["log"] == size  # nothing is recognised that was given


def test_what_stands_beside_a_log_is_read_once(tmp_path: Path, taken: Counter[str]) -> None:
    log, shares = tmp_path / "log", tmp_path / "shares"
    log.write_text(SACCT)
    shares.write_text(SSHARE)
    read_trace(log, "slurm", weights=shares)
    assert taken["log"] == len(SACCT)
    assert len(SSHARE) <= taken["shares"] <= len(SSHARE) + len(SSHARE.splitlines()[0]) + 3
    taken.clear()
    (tmp_path / "cluster_log.csv").write_text(HELIOS)
    (tmp_path / "cluster_gpu_number.csv").write_text(SIZES)
    read_trace(tmp_path)
    assert taken == {"cluster_log.csv": len(HELIOS), "cluster_gpu_number.csv": len(SIZES)}


def test_the_start_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for content, start in (
        ("\ufeff\r\n\n a,b\nc", "\r\n\n a,b\n"),
        (";x\n\n;y\n1 2\n3", ";x\n\n;y\n1 2\n"),
        (";x", ";x"),
        ("\N{GREEK SMALL LETTER ALPHA}" * START, "\N{GREEK SMALL LETTER ALPHA}" * (START // 2)),
        ("a" + "\N{GREEK SMALL LETTER ALPHA}" * START, "a" + "\N{GREEK SMALL LETTER ALPHA}" * (START // 2 - 1)),
    ):
        for data in (content.encode(), gzip.compress(content.encode())):
            path.write_bytes(data)
            assert read_start(path, ";") == start
    for data, says in (
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"a\xff\n", "not a text file, byte 1 is not UTF-8"),
        (gzip.compress(b"a,b")[:9], "the gzip file is damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=says):
            read_start(path, ";")
