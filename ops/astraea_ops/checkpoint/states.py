"""States that can be saved, and how each kind is written to a file and loaded from it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object that returns and loads its state, like modules, optimizers and schedulers of PyTorch."""

    def state_dict(self) -> Any:
        """Return a state that can be pickled."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Load a state that `state_dict` returned."""


State: TypeAlias = Stateful | dict[str, Any] | tuple[Callable[[Path], object], Callable[[Path], object]]
"""A state that `checkpointed` can save."""


def functions_of(state: State) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    """Return a state of any kind as a pair of functions that save to a path and load from it."""
    if isinstance(state, tuple) and len(state) == 2 and all(callable(function) for function in state):
        return state
    if not isinstance(state, dict | Stateful):
        expected = "an object with state_dict() and load_state_dict(), a dictionary or a pair of functions"
        raise ValueError(f"state: {state!r} cannot be saved; expected {expected}")

    def save(path: Path) -> None:
        with open(path, "wb") as file:
            pickle.dump(content_of(state), file, pickle.HIGHEST_PROTOCOL)

    def load(path: Path) -> None:
        with open(path, "rb") as file:
            saved = pickle.load(file)
        if isinstance(state, Stateful):
            state.load_state_dict(saved)
            return
        parts = {name: part for name, part in state.items() if isinstance(part, Stateful)}
        if missing := parts.keys() - saved.keys():
            raise ValueError(f"{path}: has no {', '.join(sorted(missing))}; expected the same parts as in the state")
        for name, part in parts.items():
            part.load_state_dict(saved.pop(name))
        state.update(saved)

    return save, load


def content_of(state: State) -> Any:
    """Return the content of a state that is no pair of functions, to be pickled."""
    if isinstance(state, Stateful):
        return state.state_dict()
    assert isinstance(state, dict)
    return {name: part.state_dict() if isinstance(part, Stateful) else part for name, part in state.items()}
