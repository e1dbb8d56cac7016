"""The table of the schedulers, made from what each one declares."""

from __future__ import annotations

import pandas as pd

from astraea.cluster.policies import all_policies


def policies() -> pd.DataFrame:
    """Return a table of the schedulers, one row each, in the order of the figures.

    Columns are `about` (what it does), `paper` (where it is from), `preempts` (a job may lose its GPUs before its
    end), `needs_running_times` (it reads estimates of them), `sees_tenants`, and `parameters` with their defaults and
    units.
    """
    rows = {
        name: {
            "about": policy.about,
            "paper": policy.paper,
            "preempts": policy.preempts,
            "needs_running_times": policy.needs_estimates,
            "sees_tenants": policy.sees_tenants,
            "parameters": ", ".join(
                f"{key}={value if isinstance(value, str) else f'{value:g}'}{_unit(policy.help[key])}"
                for key, value in policy.as_text.items()
            ),
        }
        for name, policy in all_policies().items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")


def _unit(meaning: str) -> str:
    """Return the unit with which the meaning of a parameter begins, as `` [s]``."""
    unit = meaning.partition(",")[0]
    return f" [{unit}]" if unit in ("s", "GPU-s", "h", "GPU") else ""
