"""The Standard Workload Format, and CSV files that call their columns otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from astraea.traces.readers import read_trace

LOG = """; Version: 2.2
; UnixStartTime: 1000000000
; a comment
    1      0     30    100    4   -1  -1    4   600  -1  1   7  3  1  1  2 -1 -1
    2      5     -1     50   -1   -1  -1    8    -1  -1  0   8  4  1  1  2 -1 -1
    3      9      0     -1    2   -1  -1    2   600  -1  5   8  4  1  1  2 -1 -1
    4     11      0     20   -1   -1  -1   -1   600  -1  1   8  4  1  1  2 -1 -1
"""


def test_a_log(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_text(LOG)
    trace = read_trace(file)
    assert trace.frame[["job_id", "tenant", "user", "demand", "submit_time", "duration"]].to_numpy().tolist() == [
        ["1", "3", "7", 4, 0, 100], ["2", "4", "8", 8, 5, 50],
    ]  # fmt: skip
    assert trace.queueing_delay[0] == 30 and np.isnan(trace.queueing_delay[1])
    assert trace.time_limit[0] == 600 and np.isnan(trace.time_limit[1])
    assert trace.state.tolist() == ["completed", "failed"]
    assert trace.origin == pd.Timestamp("2001-09-09T01:46:40")
    assert dict(trace.excluded_jobs.to_numpy()) == {"3": "never ran", "4": "asks for 0 GPUs"}
    assert read_trace(file, tenant="user").tenants == ("7", "8")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (" 7  3 ", " 7 ", "line 4: expected 18 columns, got 17"),
        ("  100 ", " -100 ", 'line 4: run time must be a time of at least 0 and at most 1e+10 s, or -1, got "-100"'),
        ("    4   -1", "    4.5   -1", "line 4: allocated processors must be a whole number of GPUs"),
        ("-1  1   7", "-1  9   7", 'line 4: status must be a whole number from -1 to 5, got "9"'),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    file = tmp_path / "log.swf"
    assert old in LOG
    file.write_text(LOG.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_trace(file, format="swf")
    assert says in str(error.value)


def test_columns_may_be_called_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("JobNo,team,gpus,came,ran,user,num_gpu\na,x,2,0,30,ann,99\nb,y,4,5,60,bob,99\n")
    names = {"job_id": "JobNo", "tenant": "team", "demand": "gpus", "submit_time": "came", "duration": "ran"}
    trace = read_trace(file, time_unit="s", columns=names)
    assert trace.frame[["job_id", "tenant", "user", "demand", "duration"]].to_numpy().tolist() == [
        ["a", "x", "ann", 2, 30], ["b", "y", "bob", 4, 60],
    ]  # fmt: skip
    with pytest.raises(InputError, match="column 'GPU' is missing"):
        read_trace(file, time_unit="s", columns={**names, "demand": "GPU"})
    with pytest.raises(InputError, match="a column must be one of demand, job_id"):
        read_trace(file, time_unit="s", columns={**names, "gpus": "gpus"})
