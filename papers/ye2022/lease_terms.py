"""Comparisons of lease terms ([Ye2022] §6.2, Fig 9)."""

from __future__ import annotations

import pandas as pd


def above_best(swept: pd.DataFrame) -> pd.DataFrame:
    """Return by how much each term's average JCT exceeds the lowest of its case: columns case, lease_term, excess.

    `swept` has a row for each case, lease_term [s] and seed, with an average_jct [s]. Means are over
    seeds. `excess` is a share; a term is
    recommended if it is the shortest with at most `experiments.lease_term.TOLERANCE`.
    """
    means = swept.groupby(["case", "lease_term"], sort=False)["average_jct"].mean()
    return (means / means.groupby("case").transform("min") - 1).rename("excess").reset_index()
