"""`allox-under-leases`: AlloX that preempts, an ablation and not a scheduler of any paper.

Whenever leases end it makes AlloX's choice again, also among jobs that ask for renewal, by their remaining need.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from astraea.cluster.policies.allox import allox

allox_under_leases: Final = replace(
    allox,
    name="allox-under-leases",
    parameters={**allox.parameters, "lease_term": 900.0},
    help={**allox.help, "lease_term": "s, length of a lease"},
    about="A preemptive AlloX, which chooses again whenever leases end (ours; not in any paper).",
    paper="",
)
