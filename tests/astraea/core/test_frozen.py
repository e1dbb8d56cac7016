"""The content of a frozen dataclass cannot be changed."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import astraea
import papers
from astraea.core.arrays import FloatArray
from astraea.core.frozen import frozen, read_only

LEFT_AS_THEY_ARE = {
    "papers.judging": "private to one reading of the claims",
    "papers.gavel.problem": "one is made for each moment, and the arrays may be large",
    "astraea.experiments": "they hold what a study has just asked for",
    "papers.running": "private to one command",
    "astraea.traces.readers": "private to one file that is read",
    "astraea.traces.sources": "constants",
}


@read_only
@dataclass(frozen=True, eq=False)
class Sample:
    values: FloatArray
    several: tuple[FloatArray, ...]
    table: pd.DataFrame
    known: dict[str, Any]
    listed: list[float]
    named: Mapping[str, float]
    more: pd.DataFrame | None = None
    others: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def doubled(self) -> FloatArray:
        return 2 * self.values


def given() -> dict[str, Any]:
    """Return one of each kind of content."""
    return {
        "values": np.arange(3.0),
        "several": (np.arange(2.0), np.arange(4.0)),
        "table": pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        "listed": [1.0],
        "known": {"deep": {"k": [1]}},
        "named": {"k": 1.0},
    }


def same(sample: Sample) -> bool:
    """Return true if all content is that of `given`."""
    first = given()
    return (
        sample.values.tolist() == first["values"].tolist()
        and [part.tolist() for part in sample.several] == [part.tolist() for part in first["several"]]
        and sample.table.equals(first["table"])
        and (sample.known, sample.listed, dict(sample.named)) == (first["known"], first["listed"], first["named"])
    )


@pytest.mark.parametrize("through", [lambda s: s, lambda s: pickle.loads(pickle.dumps(s)), replace])
def test_nothing_can_be_written(through: Callable[[Sample], Sample]) -> None:
    made = Sample(**given())
    assert len(made.doubled) == 3  # remembered before it is pickled
    sample = through(made)
    for array in (sample.values, *sample.several, sample.doubled, sample.table["a"].to_numpy()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0
    for array in (sample.values, sample.values[:], *sample.several, sample.doubled):
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True
    table = sample.table
    table["a"], table["c"] = 9.0, 9.0
    table.loc[0, "b"] = "changed"
    sample.known["deep"]["k"].append(2)
    sample.listed.append(2.0)
    assert isinstance(sample.named, MappingProxyType)
    with pytest.raises(TypeError, match="does not support item assignment"):
        sample.named["k"] = 9.0  # type: ignore[index]
    assert sample.more is None and sample.others == {}
    assert same(sample)


def test_the_caller_keeps_no_way_in() -> None:
    parts = given()
    whole, closed = np.arange(6.0), np.arange(2.0)
    closed.flags.writeable = False
    sample = Sample(**{**parts, "values": whole[:3], "several": (closed, parts["several"][1])})
    closed.flags.writeable = True
    for array in (whole, closed, parts["several"][1]):
        array[:] = 9.0
    parts["table"]["a"] = 9.0
    parts["known"]["deep"]["k"].append(2)
    parts["named"]["k"] = 9.0
    assert same(sample)
    assert replace(sample, known={}).values is sample.values  # what nobody can write to is shared


KINDS = {
    "columns first": np.arange(6.0).reshape(2, 3).T,
    "a part": np.arange(6)[::2],
    "a number": np.array(5.0),
    "none": np.zeros((0, 3)),
    "texts": np.array(["a", "bc"]),
    "times": np.array(["2020-01-01"], "M8[s]"),
    "records": np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "objects": np.array(["a", None], object),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
}


def test_arrays_of_every_kind_keep_what_they_say() -> None:
    for kind, array in KINDS.items():
        found = frozen(array)
        assert (type(found), found.dtype, found.shape) == (type(array), array.dtype, array.shape), kind
        assert found.tolist() == array.tolist() and not found.flags.writeable, kind
        assert not np.shares_memory(found, array), kind
        assert frozen(found) is found or kind == "masked"


def test_every_frozen_class_is_read_only_or_says_why_not() -> None:
    """Frozen dataclasses of the packages that contain an array, a table or a mapping."""
    found: dict[str, type] = {}
    for module in (m for top in (astraea, papers) for m in pkgutil.walk_packages(top.__path__, f"{top.__name__}.")):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.name:
                kinds = " ".join(str(f.type) for f in fields(value))
                is_frozen = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
                if is_frozen and re.search(r"Array|DataFrame|(dict|list|Mapping)\[", kinds):
                    found[f"{module.name}.{name}"] = value
    assert "astraea.traces.trace.Trace" in found and "astraea.core.result.Result" in found
    open_ = [name for name, cls in found.items() if "__setstate__" not in vars(cls)]
    assert [name for name in open_ if not name.startswith(tuple(LEFT_AS_THEY_ARE))] == []
    assert [where for where in LEFT_AS_THEY_ARE if not any(name.startswith(where) for name in open_)] == []
