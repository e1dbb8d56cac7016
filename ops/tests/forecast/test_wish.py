"""A job in a question to the forecast, as text."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from astraea.core.errors import InputError
from astraea_ops.forecast.moment import Wish, wish


@pytest.mark.parametrize(
    ("text", "seconds"),
    {
        "4h": 14_400, "90m": 5400, "1.5h": 5400, "2d": 172_800, "30s": 30, "20min": 1200, "240": 14_400,
        "30:00": 1800, "1:30:00": 5400, "1-0": 86_400, "2-12": 216_000, "1-1:30": 91_800, "0-0:0:5": 5,
    }.items(),
)  # fmt: skip
def test_time_limits(text: str, seconds: float) -> None:
    assert wish(f"gpus=1,time={text}").time == seconds


def test_all_parts() -> None:
    found = wish(" gpus = 8 , account=vision,user=ann,partition=gpu,time=4h,at=2026-03-01T12:00:00")
    assert found == Wish(8, "vision", "ann", "gpu", 14_400.0, pd.Timestamp(2026, 3, 1, 12))
    assert math.isnan(wish("gpus=1").time)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "": "expected gpus=",
        "time=4h": "gpus=... is missing in 'time=4h'",
        "gpus=1,gpus=2": "gpus is given twice",
        "gpus=": "got 'gpus='",
        "gpus=1,colour=red": "got 'colour=red'",
        "gpus=0": "gpus must be a whole number from 1 to 1000000, got '0'",
        "gpus=1e3": "got '1e3'",
        "gpus=9999999999": "got '9999999999'",
        "gpus=1,time=0": "time must be a time such as 90m",
        "gpus=1,time=-5m": "got '-5m'",
        "gpus=1,time=4 weeks": "got '4 weeks'",
        "gpus=1,time=99999d": "got '99999d'",
        "gpus=1,at=noon": "at must be a time YYYY-MM-DDTHH:MM:SS, got 'noon'",
        "gpus=1,at=\x1b[2J": r"got '\\x1b",
    }.items(),
)
def test_a_bad_part_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        wish(text)
    assert said in str(error.value)
    assert str(error.value).isprintable()
