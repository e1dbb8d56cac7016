"""User-supplied numbers, values as text, parts, random streams, hashes in place of chance, and digests."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.arrays import apportion
from astraea.core.checks import is_number, number, one_of, whole_number
from astraea.core.digest import Part, digest_of
from astraea.core.errors import InputError
from astraea.core.random import lottery, number_of_bidders, splitmix64, streams
from astraea.core.text import escaped, printable
from astraea.core.wording import counted, duration_text, unit_for


def test_numbers_of_python_and_numpy_are_taken() -> None:
    for whole in (1, np.int32(1), np.uint8(1)):
        assert type(whole_number(whole, "n", 1, 1)) is int
    for value in (0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)):
        assert is_number(value)
        assert type(number(value, "x", least=0.5, most=1)) is float
        assert number(value, "x", above=0.25, below=1.25) == float(value)


@pytest.mark.parametrize(
    ("check", "limits", "value", "sentence"),
    [
        *(
            (whole_number, {}, value, "a whole number of at least 0")
            for value in (True, np.True_, 1.0, "1", None, np.array([1, 2]), -1)
        ),
        (whole_number, {"least": 1}, 2.5, "a whole number of at least 1"),
        (whole_number, {"least": 1, "most": 9}, 10, "a whole number from 1 to 9"),
        (whole_number, {"least": 1, "most": 1_000_000}, 0, "a whole number from 1 to 1000000"),
        (whole_number, {"most": 2**63 - 1, "expected": "a seed"}, 2**63, "a seed"),
        *(
            (number, {"least": -5}, value, "a number of at least -5")
            for value in (True, np.False_, "1", None, 1j, np.nan, np.inf, -np.inf, 10**400)
        ),
        (number, {"least": 0, "most": 1}, 1.5, "a number from 0 to 1"),
        (number, {"least": 0.0, "most": 0.5}, -0.0001, "a number from 0 to 0.5"),
        (number, {"least": 0.25}, 0, "a number of at least 0.25"),
        (number, {"above": 0}, 0.0, "a number above 0"),
        (number, {"above": 0, "most": 1}, 2, "a number above 0 and at most 1"),
        (number, {"least": 0, "below": 1, "expected": "a part below 1"}, 1, "a part below 1"),
    ],
)
def test_sentences_about_numbers(check: Any, limits: dict[str, Any], value: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        check(value, "x", **limits)
    assert str(caught.value) == f"x must be {sentence}, got {value!r}"


def test_a_word_that_is_not_known_is_told_the_others() -> None:
    assert one_of("b", {"a": 1, "b": 2}, "letter") == "b"
    with pytest.raises(InputError, match=r"^letter must be one of a, b, got 'c'$"):
        one_of("c", ("a", "b"), "letter")


@given(st.lists(st.floats(0.01, 1000.0), min_size=1, max_size=20), st.integers(0, 1000))
def test_whole_parts_add_up_and_stay_within_one_of_the_exact_ones(weights: list[float], total: int) -> None:
    parts = total * np.array(weights) / sum(weights)
    got = apportion(parts, total)
    assert got.sum() == total
    assert (np.abs(got - parts) < 1 + 1e-6).all()


def test_of_equal_remainders_the_first_is_rounded_up() -> None:
    assert apportion(np.array([1.5, 2.25, 0.5, 1.75]), 6).tolist() == [2, 2, 0, 2]


def test_values_and_times_as_text() -> None:
    texts = {0: "0 s", 59.6: "59.6 s", 90: "1.5 min", -90: "-1.5 min", 3600: "1 h", 100_000: "1.16 d"}
    assert {seconds: duration_text(seconds) for seconds in texts} == texts
    units = {0: "s", 119: "s", 120: "min", 7200: "h", 1e9: "d"}  # what the longest fills twice
    assert {longest: unit_for(longest) for longest in units} == units
    assert escaped("a\n\x1b[31mb\u2028é") == r"a\n\x1b[31mb\u2028é"
    assert printable("x" * 80) == "x" * 80
    assert printable("\n" * 81) == r"\n" * 80 + "..."
    assert [counted(n, "job") for n in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]


def test_splitmix64_gives_the_published_numbers() -> None:
    """The first five of the stream that starts at 1234567, from the authors' own code."""
    state, step = np.array([1234567], np.uint64), np.array([0x9E3779B97F4A7C15], np.uint64)
    stream = [int(splitmix64(state + np.uint64(k) * step)[0]) for k in range(5)]
    assert stream == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_lots_depend_on_item_and_time_alone() -> None:
    some = lottery(np.array([3, 5, 8]), 120.0)
    assert lottery(np.array([8, 3]), 120.0).tolist() == [some[2], some[0]]
    assert (lottery(np.array([3, 5, 8]), 130.0) != some).all()
    many = np.array([lottery(np.arange(100), 10.0 * k) for k in range(500)])
    assert ((many >= 0) & (many < 1)).all()
    for part in (0.1, 0.5, 0.9):
        assert (many < part).mean() == pytest.approx(part, abs=0.01)
        assert (many < part).mean(axis=0) == pytest.approx(part, abs=0.1)  # every item
        assert (many < part).mean(axis=1) == pytest.approx(part, abs=0.2)  # every round


def test_the_worst_part_of_the_candidates_bids() -> None:
    bidders = {(10, 0.0): 10, (10, 0.8): 2, (11, 0.8): 3, (10, 1.0): 1, (1, 0.8): 1, (10, 0.7): 3, (100, 0.29): 71}
    assert {case: number_of_bidders(*case) for case in bidders} == bidders


def test_every_name_has_a_stream_of_its_own() -> None:
    few, more = streams(7, ("size", "type")), streams(7, ("size", "type", "length"))
    assert few["size"].random() == more["size"].random()
    assert few["type"].random() == more["type"].random() != more["length"].random()
    with pytest.raises(InputError, match=r"^the seed must be a whole number of at least 0, got -1$"):
        streams(-1, ("size",))


Texts = tuple[str, ...]
TEXTS = st.lists(st.sampled_from(["", "a", "aa", "1:", "\n", "\x1f", "\ud800"]), max_size=3).map(tuple)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_texts_never_run_together(a: Texts, b: Texts, c: Texts, d: Texts) -> None:
    assert (digest_of(one=a, two=b) == digest_of(one=c, two=d)) == ((a, b) == (c, d))


def test_every_part_counts() -> None:
    parts: list[dict[str, Part]] = [
        {}, {"a": ""}, {"b": ""}, {"a": (), "b": ()}, {"b": (), "a": ()}, {"a": np.zeros(0)}, {"a": np.zeros(1)},
        {"a": np.zeros(1, int)}, {"a": np.zeros((1, 1))}, {"a": np.zeros(2)}, {"a": np.zeros(1), "b": np.zeros(1)},
        {"a": ("\0" * 8,)}, {"a": (), "b": "", "c": ""},
    ]  # fmt: skip
    assert all(digest_of(**one) != digest_of(**other) for one, other in combinations(parts, 2))


def test_the_bytes_are_known() -> None:
    """A committed digest must not depend on a library or on the machine."""
    head, more = b"8:a text 2", b"10:b <i8 (1,)"
    one, five = (1).to_bytes(8, "little"), (5).to_bytes(8, "little")
    content = head + one + one + b"x\xc3\xa4" + more + five
    assert digest_of(a=("x", "ä"), b=np.array([5], np.int32)) == hashlib.sha256(content).hexdigest()
