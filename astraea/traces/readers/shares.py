"""Share files: a two-column CSV with a header, the tenant's name and its weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from astraea.core.checks import number
from astraea.core.errors import InputError
from astraea.traces.columns import POSITIVE, printable
from astraea.traces.readers.table import read_table


@dataclass(frozen=True)
class Shares:
    """Weight of every tenant, and where it was read."""

    weight: dict[str, float]
    source: str

    def check(self, tenants: npt.NDArray[np.object_], where: list[str]) -> None:
        """Raise `InputError` for the first tenant that has no share; names are compared letter by letter."""
        for tenant, place in zip(tenants, where, strict=True):
            if tenant not in self.weight:
                names = ", ".join(map(printable, sorted(self.weight)))
                raise InputError(f"{self.source}: there is no share for tenant {tenant!r} of {place}; it names {names}")


def read_shares(source: str | Path | Mapping[str, float] | None) -> Shares | None:
    """Tenant weights from a share file (`name,share` or `vc,node num`: the header's words do not matter) or a mapping.

    Raises
    ------
    InputError
        If the file is not two columns with a header, a name is there twice, or a weight is not a number above 0.
    """
    if source is None:
        return None
    if isinstance(source, Mapping):
        return Shares({str(k): number(v, f"weights[{k!r}]: a weight", above=0) for k, v in source.items()}, "weights")
    path = Path(source)
    table = read_table(path)
    if len(table.columns) != 2:
        found = ", ".join(map(printable, table.columns))
        raise InputError(f"{path}, line 1: a share file has two columns, tenant and weight; found {found}")
    name_column, share_column = table.columns
    names = table.text(name_column)
    weights = table.number(share_column, *POSITIVE)
    out: dict[str, float] = {}
    for name, weight, place in zip(names, weights, table.where, strict=True):
        if name in out:
            raise InputError(f"{place}: {printable(name_column)} must be unique, got {name!r} a second time")
        out[name] = float(weight)
    return Shares(out, str(path))
