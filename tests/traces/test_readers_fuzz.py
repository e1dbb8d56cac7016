"""Whatever is in a file, a reader gives a trace or an `InputError`: no other exception, no warning."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import ASTRAEA, CHRONUS, GAVEL7, GAVEL10, HELIOS, MURI, PHILLY, SACCT, SIZES, SPEEDS, SWF, TIRESIAS

from astraea.core.errors import InputError
from astraea.traces.describe import describe_text
from astraea.traces.readers import FORMATS, read_trace
from astraea.traces.trace import Trace

VALID: dict[str, list[str]] = {
    "tiresias-csv": [TIRESIAS, ASTRAEA, CHRONUS, MURI],
    "helios": [HELIOS],
    "philly": [json.dumps(PHILLY)],
    "gavel": [GAVEL7, GAVEL10],
    "slurm": [SACCT],
    "swf": [SWF],
}
#: pieces that break parsers
PIECES = [
    "", "nan", "-1", "1e999", "1e308", "0", ",", "\t", '"', "\n", "\x00", "\ud7ff", "None", "null", "[]", "{}",
    "\\ud800", "9999-12-31 23:59:59", "0001-01-01 00:00:00", "2017-11-05 01:30:00", "99999999999999999999",
    "\N{ARABIC-INDIC DIGIT THREE}", "1_0", "=1+1",
]  # fmt: skip


def survives(files: dict[str, bytes], **options: Any) -> None:
    """Read the first of the files in a folder of their own, warnings being errors."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        try:
            trace = read_trace(Path(folder) / next(iter(files)), **options)
        except InputError as err:
            assert str(err)
            assert len(str(err).splitlines()) == 1
        else:
            assert isinstance(trace, Trace)
            assert len(trace.digest) == 64
            assert "set aside" in describe_text(trace)


def beside(known: str) -> dict[str, bytes]:
    """Write the other files that a format needs."""
    if known == "helios":
        return {"cluster_gpu_number.csv": SIZES.encode()}
    return {"simulation_throughputs.json": json.dumps(SPEEDS).encode()} if known == "gavel" else {}


def options_of(known: str | None) -> dict[str, str]:
    """Give what a format must be told."""
    return {"time_unit": "ms"} if known == "tiresias-csv" else {}


@pytest.mark.parametrize("known", [None, *FORMATS])
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))))
@settings(max_examples=30, deadline=None)
def test_any_bytes(known: str | None, data: bytes) -> None:
    survives({"log": data, **beside(known or "gavel")}, format=known, **options_of(known))


@pytest.mark.parametrize("known", FORMATS)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_mutated_files(known: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(VALID[known]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(PIECES) | st.text(max_size=4)) + text[end:]
    survives({"log": text.encode("utf-8", "replace"), **beside(known)}, format=known, **options_of(known))


@pytest.mark.parametrize("known", ["tiresias-csv", "helios", "gavel"])
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_mutated_fields(known: str, data: st.DataObject) -> None:
    """The table stays a table, so that the checks of single fields are reached."""
    between = "\t" if known == "gavel" else ","
    rows = [line.split(between) for line in data.draw(st.sampled_from(VALID[known])).splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(rows))
        field = data.draw(st.sampled_from(PIECES) | st.floats().map(str) | st.integers().map(str))
        row[data.draw(st.integers(0, len(row) - 1))] = field
    text = "\n".join(between.join(row) for row in rows)
    survives({"log": text.encode("utf-8", "replace"), **beside(known)}, format=known, **options_of(known))


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_mutated_philly_values(data: st.DataObject) -> None:
    """Any JSON value in any place of the log."""
    log = json.loads(json.dumps(PHILLY))
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(PIECES)
    value = data.draw(leaf | st.lists(leaf, max_size=2) | st.dictionaries(st.text(max_size=3), leaf, max_size=2))
    place: Any = log
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[key], (dict, list)) and place[key]) or data.draw(st.booleans()):
            place[key] = value
            break
        place = place[key]
    survives({"log": json.dumps(log).encode()}, format="philly")


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_mutated_throughputs_and_sizes(data: st.DataObject) -> None:
    for known, (name, valid) in {
        "gavel": ("simulation_throughputs.json", json.dumps(SPEEDS)),
        "helios": ("cluster_gpu_number.csv", SIZES),
    }.items():
        start = data.draw(st.integers(0, len(valid)))
        text = valid[:start] + data.draw(st.sampled_from(PIECES)) + valid[start + data.draw(st.integers(0, 9)) :]
        survives({"log": VALID[known][0].encode(), name: text.encode()}, format=known)
        survives({"log": ASTRAEA.encode(), "share": text.encode()}, weights={"north": 1, "south": 2})
