"""Ranks of a distributed job: which one saves, and what all of them agree on after a step."""

from __future__ import annotations

import os
import sys
from typing import Any


def distributed() -> Any:
    """Return `torch.distributed` if the script uses it, otherwise None."""
    distributed = sys.modules.get("torch.distributed")
    uses = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if uses else None


def is_first_rank() -> bool:
    """Return whether this process is rank 0 of `torch.distributed`, of torchrun or of its job step."""
    if (used := distributed()) is not None:
        return bool(used.get_rank() == 0)
    return int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0) == 0


class Ranks:
    """An exchange between the ranks of `torch.distributed`, if the script uses it."""

    def __init__(self) -> None:
        self._group: Any = None

    def agreed(self, done: int, *flags: bool) -> list[bool]:
        """Return each flag as true if any rank has it; `RuntimeError` if the ranks have `done` different steps."""
        if (used := distributed()) is None:
            return list(flags)
        if self._group is None:  # of CPUs, so that no GPU has to finish its queue first
            self._group = used.new_group(backend="gloo")
        told = sys.modules["torch"].tensor([*flags, done, -done])
        used.all_reduce(told, used.ReduceOp.MAX, group=self._group)
        *agreed, most, least = told.tolist()
        if most != -least:
            raise RuntimeError(f"ranks have done {-least} to {most} steps; expected the same number on all")
        return [bool(flag) for flag in agreed]


def leave_groups() -> None:
    """Destroy the groups of `torch.distributed`, ours and the script's, whose threads must not outlive Python."""
    if (used := distributed()) is not None:
        used.destroy_process_group()
