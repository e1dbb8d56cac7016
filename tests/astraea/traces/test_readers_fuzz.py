"""Bytes in, jobs or one sentence out: for any file, a reader returns a trace or an `InputError` with a place.

Each row of the file is a job, a part of one, or listed with the reason why it is none.
"""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
import trace_samples as good
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from astraea.core.errors import InputError
from astraea.traces.describe import describe_text
from astraea.traces.readers import TIME_UNITS, formats, read_trace, swf
from astraea_ops.slurm.files import TENANTS


class Sample(NamedTuple):
    """Good files of one format, the log first, and the possible options."""

    files: dict[str, str]
    between: str = ","
    options: tuple[dict[str, Any], ...] = ({},)


UNITS: Final = tuple({"time_unit": unit} for unit in TIME_UNITS)
SAMPLES: Final[dict[str, list[Sample]]] = {
    "tiresias-csv": [
        *(
            Sample({"log": text, "weights": "name,share\nnorth,1\nsouth,2\n"}, ",", UNITS)
            for text in (good.ASTRAEA, good.CHRONUS)
        ),
        *(Sample({"log": text}, ",", UNITS) for text in (good.TIRESIAS, good.MURI)),
        Sample({"log": "job_id,tenant,demand,submit_time,duration,weight\n1,a,2,0,60.5,\n2,b,1,9,7,0.5\n"}),
    ],
    "helios": [Sample({"log": good.HELIOS, "cluster_gpu_number.csv": good.SIZES})],
    "philly": [Sample({"log": json.dumps(good.PHILLY)})],
    "gavel": [
        Sample({"log": text, "simulation_throughputs.json": json.dumps(good.SPEEDS)}, "\t")
        for text in (good.GAVEL7, good.GAVEL10)
    ],
    "slurm": [
        Sample({"log": good.SACCT}, "|", tuple({"tenant": who} for who in TENANTS if who != "top-account")),
        Sample({"log": good.SACCT_WIDE}, "|", ({}, {"resource": "cpu"}, {"resource": "gres/gpu:a100"})),
        Sample({"log": good.SACCT.partition("\n")[2]}, "|", ({"columns": good.SACCT.split("\n", 1)[0].split("|")},)),
        Sample({"log": json.dumps(good.SACCT_JSON)}, options=({}, {"resource": "node"})),
        Sample({"log": good.SACCT, "weights": good.SSHARE}, "|", ({}, {"tenant": "top-account"})),
    ],
    "swf": [Sample({"log": text}, " ", tuple({"tenant": who} for who in swf.TENANTS))
            for text in (good.SWF, good.SWF.replace(" -1 -1\n", " -1 -1 4 0 0\n"))],
    "acme": [Sample({"log": good.ACME})],
    "supercloud": [Sample({"log": good.SUPERCLOUD})],
    "spot-gpu": [Sample({"log": good.SPOT_GPU})],
}
assert set(SAMPLES) == {*formats()} - {"kestrel"}  # which is no text: test_published

PIECES: Final = [
    "", "nan", "-1", "-0.5", "1e999", "1e308", "-1e308", "1e-320", "0", "3", ",", "\t", "|", ";", '"', "'", "\n", "\r",
    "\x00", "\x1c", "\x85", "\u2028", "\ufeff", "\ud7ff", "None", "null", "true", "[]", "{}", "\\ud800", "\\u0000",
    "9999-12-31 23:59:59", "0001-01-01 00:00:00", "2017-11-05 01:30:00", "9999-12-31T23:59:59", "0001-01-01T00:00:00",
    "99999999999999999999", "9" * 400, "9" * 5000, "\N{ARABIC-INDIC DIGIT THREE}", "1_0", "=1+1",
    "gres/gpu=99999999999999999999", "gres/gpu:a=b=3", "CANCELLED by 1", "PENDING", "REQUEUED", "RUNNING", "Unknown",
    "12+1", "12_[1-3]", "12.batch", " " * 3,
]  # fmt: skip
"""Texts that break parsers."""

numbers = st.floats().map(repr) | st.integers().map(str) | st.integers(-(10**12), 10**12).map(str)
fields = st.sampled_from(PIECES) | numbers | st.text(max_size=4)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(PIECES)
values = leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.text(max_size=3), leaves, max_size=2)


@st.composite
def cells(draw: st.DrawFn, text: str, between: str) -> str:
    """Replace fields of a table, so that the checks of single fields are reached."""
    rows = [line.split(between) for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.sampled_from(rows))
        row[draw(st.integers(0, len(row) - 1))] = draw(fields | st.sampled_from([f for r in rows for f in r]))
    return "\n".join(between.join(row) for row in rows)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> str:
    """Replace parts of the text, or cut its end off."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 12))
        text = text[:start] + draw(fields) + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@st.composite
def members(draw: st.DrawFn, text: str) -> str:
    """Put any JSON value in any place of the document, or leave a member out."""
    whole = [json.loads(text)]
    place: Any = whole
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[key], dict | list) and place[key]) or draw(st.integers(0, 3)) == 0:
            if draw(st.integers(0, 3)) == 0 and len(place) > 1:
                del place[key]
            else:
                place[key] = copy.deepcopy(draw(values))
            return json.dumps(whole[0] if whole else None)
        place = place[key]


@st.composite
def spoilt(draw: st.DrawFn, known: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Draw the files of a format, one of which is spoilt, and the options."""
    sample = draw(st.sampled_from(SAMPLES[known]))
    name = draw(st.sampled_from(["log", *sample.files]))
    text = sample.files[name]
    is_json = text[0] in "[{"
    between = sample.between if name == "log" else "|" if text == good.SSHARE else ","
    text = draw(pieces(text) | (members(text) if is_json else cells(text, between)))
    files = {n: (text if n == name else t).encode("utf-8", "replace") for n, t in sample.files.items()}
    return files, {**draw(st.sampled_from(sample.options)), "strict": draw(st.booleans())}


def survives(files: dict[str, bytes], known: str | None, **options: Any) -> None:
    """Read the log in a folder of its own, warnings being errors."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        if "weights" in files:
            options["weights"] = Path(folder) / "weights"
        try:
            trace = read_trace(Path(folder) / "log", format=known, **options)
        except InputError as err:
            assert any(name in str(err) for name in files), "the message names no place"
            assert len(str(err).splitlines()) == 1 and str(err).isprintable()
            return
        assert len(trace.digest) == 64
        assert "excluded" in describe_text(trace)
        assert (np.diff(trace.submit_time) >= 0).all() and trace.submit_time[0] >= 0
        assert (trace.duration > 0).all() and np.isfinite(trace.duration).all() and (trace.demand > 0).all()
        assert (trace.tenant >= 0).all() and len(set(trace.job_id)) == len(trace)
        if trace.recorded is not None:
            assert set(trace.recorded["job_id"]) == set(trace.job_id)
        rows = rows_in((Path(folder) / "log").read_bytes().decode("utf-8-sig", "replace"), known, "columns" in options)
        assert rows is None or len(trace) + len(trace.excluded_jobs) == rows


def rows_in(text: str, known: str | None, has_no_head: bool) -> int | None:
    """Return the number of rows in a log; None where only the reader itself can tell."""
    lines = sum(bool(row.strip()) for row in text.split("\n"))
    if known == "slurm" and text.lstrip().startswith("{"):
        with suppress(ValueError, LookupError, TypeError):  # only the lists of jobs must be JSON
            return len(json.loads(text)["jobs"]) if text.count('"jobs"') == 1 else None
        return None
    if known == "slurm":
        return lines - (not has_no_head)
    if known == "swf":
        return sum(bool(row.partition(";")[0].strip()) for row in text.split("\n"))
    return lines - 1 if known in ("tiresias-csv", "acme", "supercloud", "spot-gpu") and '"' not in text else None


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
any_bytes = st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))


@pytest.mark.parametrize("known", SAMPLES)
@given(data=st.data())
@settings(suppress_health_check=SLOW)
def test_spoilt_files(known: str, data: st.DataObject) -> None:
    files, options = data.draw(spoilt(known))
    survives(files, None if known == "swf" and data.draw(st.booleans()) else known, **options)


@pytest.mark.parametrize("known", [None, *formats()])
@given(data=any_bytes)
@settings(suppress_health_check=SLOW)
def test_any_bytes(known: str | None, data: bytes) -> None:
    files = SAMPLES["helios" if known in (None, "kestrel") else known][0].files
    beside = {name: text.encode() for name, text in files.items() if name != "weights"}
    survives(beside | {"log": data}, known)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("known", "many"), [("slurm", 6000), ("swf", 2000), ("tiresias-csv", 2000)])
def test_ten_thousand_spoilt_logs(known: str, many: int) -> None:
    @given(data=st.data())
    @settings(max_examples=many, suppress_health_check=SLOW, deadline=None)
    def each(data: st.DataObject) -> None:
        files, options = data.draw(spoilt(known))
        survives(files, known, **options)

    each()
