"""An explanation in five lines of plain English."""

from __future__ import annotations

from typing import Final

from astraea.core.text import escaped
from astraea.core.units import HOUR
from astraea.core.wording import counted
from astraea_ops.live.changes import LATER
from astraea_ops.live.explain import Explanation
from astraea_ops.live.state import Balance
from astraea_ops.live.status import moment

NAMED: Final = 3
"""Jobs and leases that a line names; beyond that it gives their number."""

_IF: Final = ", if no job ends, arrives or changes before then"


def as_text(found: Explanation) -> str:
    """Format an explanation in five lines."""
    name = f"job {found.job} of {found.tenant}"
    lines = {"waits": _waits, "runs": _runs, "ended": _ended}[found.state](found)
    late = f"; WARNING: no round for {found.age:.0f} s, is the coordinator running?" if found.is_late else ""
    return "\n".join(escaped(line) for line in (f"{name} {lines[0]}", *lines[1:-1], f"{lines[-1]}{late}"))


def _waits(found: Explanation) -> list[str]:
    if found.kept:
        why = found.kept
    elif found.gpus > found.cluster:
        why = f"only {found.cluster} can be used now"
    elif found.gpus > found.free:
        why = f"{found.free} of {found.cluster} are free"
    else:
        why = f"{found.free} of {found.cluster} are free, but policy {found.policy} does not grant them to it"
    had = f"{len(found.leases)} before, the last until {moment(found.since)}" if found.leases else "none before"
    return [
        f"has waited for {counted(found.gpus, 'GPU')} since {moment(found.since)} "
        f"({_span(found.time - (found.since or 0))}): {why}",
        _owed(found), _before(found), f"its lease: none now, {had}", f"expected: {_expected(found)}",
    ]  # fmt: skip


def _runs(found: Explanation) -> list[str]:
    last = found.leases[-1].number if found.leases else 0
    if found.lease_end is None:
        ends, then = "lasts until the job ends", "it keeps its GPUs"
        if found.leases and found.leases[-1].is_interactive:
            ends += ", because it is interactive (srun or salloc)"
    else:
        ends = f"ends at {moment(found.lease_end)}, {_in(found.lease_end, found)}"
        if found.lost is None:
            then = f"its lease is renewed at {moment(found.granted)}{_IF}"
        else:
            then = f"it loses its GPUs at {moment(found.lost)} and gets {_expected(found)}"
    return [
        f"has run on {counted(found.gpus, 'GPU')} since {moment(found.since)}, lease {last}",
        _owed(found), _before(found), f"its lease: {ends}", f"expected: {then}",
    ]  # fmt: skip


def _ended(found: Explanation) -> list[str]:
    first, last = found.leases[0], found.leases[-1]
    has_run = last.outcome == "ended"
    when = f"ended at {moment(last.over)}, in lease {last.number}" if has_run else "ended while it waited"
    held = sum(one.over - one.granted for one in found.leases)
    waited = max(0.0, last.over - first.submitted - held)
    named = found.leases[-NAMED:]
    times = [(one, moment(one.granted), moment(one.over)) for one in named]
    listed = "; ".join(f"{one.number} from {begin} to {end}, {one.outcome}" for one, begin, end in times)
    before = f"{len(found.leases) - len(named)} before, " if len(named) < len(found.leases) else ""
    return [
        f"has {when}: it had {counted(found.gpus, 'GPU')}",
        f"had: {held * found.gpus / HOUR:.2f} GPU-h in {counted(len(found.leases), 'lease')}; {_tenant(found)}",
        f"waited: {_span(first.granted - first.submitted)} before its first lease, {_span(waited)} in all",
        f"its leases: {before}{listed}",
        "expected: nothing more; a later job with this id counts as new",
    ]


def _owed(found: Explanation) -> str:
    return f"owed: the job has had {_part(found.of_job)}; {_tenant(found)}"


def _tenant(found: Explanation) -> str:
    held = f"{found.held} of its quota of {found.quota:.4g} GPUs"
    return f"{found.tenant} has had {_part(found.of_tenant)} and holds {held}"


def _part(balance: Balance | None) -> str:
    had, owed = balance or Balance(0, 0)
    return f"{had:.2f} of {owed:.2f} GPU-h" + (f" ({had / owed:.0%})" if owed > 0 else "")


def _before(found: Explanation) -> str:
    named = ", ".join(f"{one.job} of {one.tenant}" for one in found.ahead[:NAMED])
    more = f" and {len(found.ahead) - NAMED} more" if len(found.ahead) > NAMED else ""
    gpus = counted(sum(one.gpus for one in found.ahead), "GPU")
    what = f"{counted(len(found.ahead), 'waiting job')} with {gpus}: {named}{more}" if found.ahead else "no waiting job"
    return f"ahead of it: {what}; {counted(found.renewals, 'lease')} of other jobs renewed before then"


def _expected(found: Explanation) -> str:
    number = f"lease {found.leases[-1].number + 1 if found.leases else 1}"
    if found.kept == LATER:
        return f"{number} after that, at a time that the coordinator does not know"
    if found.must_end:
        jobs = "1 job has" if found.must_end == 1 else f"{found.must_end:,} jobs have"
        lease = f"{number} when" if found.comes else "no lease before"
        return f"{lease} {jobs} ended, if the jobs that have run longest end first; no lease ends by itself"
    if not found.comes:
        return f"no lease until {moment(found.until)}, where the forecast ends{_IF}"
    earliest = " at the earliest" if found.kept else ""
    return f"{number}{earliest} at {moment(found.granted)}, {_in(found.granted, found)}{_IF}"


def _in(at: float | None, found: Explanation) -> str:
    """Format a moment relative to the time of looking."""
    left = (at or 0.0) - found.time - found.age
    return f"in {_span(left)}" if left >= 0 else f"{_span(-left)} ago"


def _span(seconds: float) -> str:
    """Format a duration in a unit in which it has at least two digits."""
    unit, name = next(((u, n) for u, n in ((HOUR, "h"), (60.0, "min")) if seconds >= 2 * u), (1.0, "s"))
    return f"{seconds / unit:.0f} {name}" if unit == 1 else f"{seconds / unit:.1f} {name}"
