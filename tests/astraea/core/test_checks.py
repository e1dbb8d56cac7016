"""One number that somebody gave: what is taken, and the sentence for what is not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from astraea.core.checks import is_number, number, one_of, whole_number
from astraea.core.errors import InputError


def test_numbers_of_python_and_numpy_are_taken() -> None:
    for whole in (1, np.int32(1), np.uint8(1)):
        assert type(whole_number(whole, "n", 1, 1)) is int
    for value in (0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)):
        assert is_number(value)
        assert type(number(value, "x", least=0.5, most=1)) is float
        assert number(value, "x", above=0.25, below=1.25) == float(value)


@pytest.mark.parametrize(
    ("limits", "value", "sentence"),
    [
        *(({}, value, "a whole number of at least 0") for value in (True, np.True_, 1.0, "1", None, np.array([1, 2]))),
        ({"least": 1}, 2.5, "a whole number of at least 1"),
        ({}, -1, "a whole number of at least 0"),
        ({"least": 1, "most": 9}, 10, "a whole number from 1 to 9"),
        ({"least": 1, "most": 1_000_000}, 0, "a whole number from 1 to 1000000"),
        ({"most": 2**63 - 1, "expected": "a seed"}, 2**63, "a seed"),
    ],
)
def test_sentences_about_whole_numbers(limits: dict[str, Any], value: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        whole_number(value, "n", **limits)
    assert str(caught.value) == f"n must be {sentence}, got {value!r}"


@pytest.mark.parametrize(
    ("limits", "value", "sentence"),
    [
        *(
            ({"least": -5}, value, "a number of at least -5")
            for value in (True, np.False_, "1", None, 1j, np.nan, np.inf, -np.inf, 10**400)
        ),
        ({"least": 0, "most": 1}, 1.5, "a number from 0 to 1"),
        ({"least": 0.0, "most": 0.5}, -0.0001, "a number from 0 to 0.5"),
        ({"least": 0.25}, 0, "a number of at least 0.25"),
        ({"above": 0}, 0.0, "a number above 0"),
        ({"above": 0, "most": 1}, 2, "a number above 0 and at most 1"),
        ({"least": 0, "below": 1, "expected": "a part below 1"}, 1, "a part below 1"),
    ],
)
def test_sentences_about_numbers(limits: dict[str, Any], value: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        number(value, "x", **limits)
    assert str(caught.value) == f"x must be {sentence}, got {value!r}"


def test_a_word_that_is_not_known_is_told_the_others() -> None:
    assert one_of("b", {"a": 1, "b": 2}, "letter") == "b"
    with pytest.raises(InputError, match=r"^letter must be one of a, b, got 'c'$"):
        one_of("c", ("a", "b"), "letter")
