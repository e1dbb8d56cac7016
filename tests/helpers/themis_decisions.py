"""What a policy of Themis decides at one round."""

from __future__ import annotations

from typing import Any

from themis_small import gangs

from papers.themis.arbiter import Arbiter
from papers.themis.policies import get_policy


def decided(arbiter: Arbiter, policy: str, **parameters: Any) -> list[int]:
    """Gangs that each app holds once the policy has decided."""
    get_policy(policy, **parameters).decide(arbiter)
    return gangs(arbiter)
