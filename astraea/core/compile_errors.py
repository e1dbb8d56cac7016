"""Errors of numba about a user's function, as one sentence with the line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba.core.errors import NumbaError
from numba.core.ir import Loc

from astraea.core.errors import PolicyError


@contextmanager
def compile_errors(name: str) -> Iterator[None]:
    """Turn an error of numba about the code of `name` into a `PolicyError` with the file, the line and the fault."""
    try:
        yield
    except KeyError as error:  # a record has no such field; only numba's own frames know the line
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        places = [getattr(frame.f_locals.get("self"), "loc", None) for frame in frames]
        at = next((place for place in reversed(places) if isinstance(place, Loc)), None)
        raise PolicyError(f"{name}{_place(at)}: there is no field {error}") from None
    except NumbaError as error:
        written = re.search(r'File "([^"]+)", line (\d+)', str(error))  # the innermost is first
        at = Loc(written[1], int(written[2])) if written else getattr(error, "loc", None)
        raise PolicyError(f"{name}{_place(at)}: {_fault(str(error))}") from None


def _place(at: Loc | None) -> str:
    return "" if at is None else f", {Path(at.filename).name}, line {at.line}"


def _fault(text: str) -> str:
    """Return the first line that says what is wrong, without the types of a state, which fill pages."""
    line = next(line for line in text.splitlines() if line and not line.startswith("Failed in nopython mode"))
    return re.sub(r" of type .*|\(?Borrowed\(.*", "", line)[:200]
