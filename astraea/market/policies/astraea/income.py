"""Who earns what is paid: in proportion to what each tenant left unused (Eqs. 2 and 11)."""

from __future__ import annotations

from astraea.core.arrays import FloatArray, IntArray


def division(unused: IntArray, cost: FloatArray) -> FloatArray:
    """Income of each tenant from one job, rho summed over slots.

    One formula for both: with one type of worker and one of parameter server there are two types of resource (Eq. 2);
    with several, a job pays for its own types and nothing for the others (Eq. 11). c in Eq. 2 is the cost of slot t
    alone, as in the paper's example. Nobody left anything where the denominator a(t) is 0, and then nothing may cost
    anything.

    Parameters
    ----------
    unused : array of int, shape (types, slots, U)
        q^u minus what the tenant's own-share jobs use, at least 0.
    cost : array of float, shape (types, slots)
        What the job pays for all its units of a type in a slot.

    Returns
    -------
    array of float, shape (U,)
        Adds up to all that is paid.
    """
    total = unused.sum(axis=2)
    if ((total == 0) & (cost > 0)).any():
        raise ValueError("a job pays for resources in a slot in which no tenant left any unused")
    per_unit = cost / total.clip(1)
    return (unused * per_unit[:, :, None]).sum(axis=(0, 1))
