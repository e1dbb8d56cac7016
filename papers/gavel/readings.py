"""Two readings of Gavel, [Narayanan2020] and the program that its authors released, and the steps between them.

The paper names no rule by which one of many optimal X is taken, its program takes what its solver returns. §5 says
nothing of GPUs that X leaves over, and nothing of what happens to GPUs that become free inside a round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from papers.gavel.simulate import AS_RELEASED, Options

PROGRAM: Final = "the authors' program"
PAPERS: Final = "from the papers"

READINGS: Final = {PROGRAM: AS_RELEASED, PAPERS: Options()}
"""Options of each reading."""

RELEASED: Final = {"fifo": "fifo-released", "fifo-het": "fifo-het-released", "gandiva": "gandiva-released"}
"""Policies that the program has in another form than the paper."""

_SUM: Final = replace(AS_RELEASED, optimum="largest-sum")
_RANKED: Final = replace(_SUM, by_type=False, lost_rounds=False)
_BY_PART: Final = replace(_RANKED, by_part=True)
LADDER: Final = {
    PROGRAM: AS_RELEASED,
    "optimum with the largest sum": _SUM,
    "all types at once by priority, no round lost": _RANKED,
    "priority by the part of a type's time": _BY_PART,
    "leftovers stay idle": replace(_BY_PART, leftovers=False),
    "5 s to restart: from the papers": Options(),
    "GPUs given again inside rounds": Options(refill=True),
    "and leftovers given away": Options(refill=True, leftovers=True),
}
"""Options from the program to the paper, one change after the other, and two steps beyond it."""


def policy_of(reading: str, policy: str) -> str:
    """Return the name of a policy in a reading."""
    return RELEASED.get(policy, policy) if reading == PROGRAM else policy
