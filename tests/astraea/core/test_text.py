"""Values and times as text."""

from __future__ import annotations

from astraea.core.text import counted, escaped, printable
from astraea.core.units import duration_text, unit_for


def test_a_time_is_written_in_the_largest_unit_that_it_fills() -> None:
    texts = {0: "0 s", 59.6: "59.6 s", 90: "1.5 min", -90: "-1.5 min", 3600: "1 h", 100_000: "1.16 d"}
    assert {seconds: duration_text(seconds) for seconds in texts} == texts


def test_several_times_share_the_largest_unit_that_the_longest_fills_twice() -> None:
    units = {0: "s", 119: "s", 120: "min", 7200: "h", 1e9: "d"}
    assert {longest: unit_for(longest) for longest in units} == units


def test_a_value_is_one_line_of_a_message() -> None:
    assert escaped("a\n\x1b[31mb\u2028é") == r"a\n\x1b[31mb\u2028é"
    assert printable("x" * 80) == "x" * 80
    assert printable("\n" * 81) == r"\n" * 80 + "..."


def test_things_are_counted_in_singular_and_plural() -> None:
    assert [counted(n, "job") for n in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]
