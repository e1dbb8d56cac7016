"""The type of the fixture `judge_all`."""

from __future__ import annotations

from collections.abc import Callable

Judge = Callable[..., dict[str, tuple[str, str, str]]]
