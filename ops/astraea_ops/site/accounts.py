"""The place of a trace's jobs in a site's tree of accounts, and the limits that they share with others.

Source: slurm.schedmd.com/resource_limits.html, for the limit that counts if several are set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.core.wording import counted
from astraea_ops.site.jobs import Jobs
from astraea_ops.site.site import Site
from astraea_ops.slurm.conf import ROOT, Association, Fields
from astraea_ops.slurm.words import resources

_MANY: Final = 1e12
"""Shares of a user with those of the account (``fairshare=parent``): such a user comes first within it."""


def tree(site: Site, jobs: Jobs, doubts: list[str]) -> dict[str, Any]:
    """Return associations, each after its parent, and the leaf of each job."""
    parents, shares, is_user = list[int](), list[float](), list[bool]()
    account: dict[str, int] = {ROOT: -1}

    def add(above: int, share: float, user: bool) -> int:
        parents.append(above)
        shares.append(share)
        is_user.append(user)
        return len(parents) - 1

    waiting = [a for a in site.accounts.associations if not a.user and a.account != ROOT]
    while waiting:
        ready = [a for a in waiting if a.parent in account] or waiting[:1]  # an account whose parent is not there
        for a in ready:
            above = account.get(a.parent, -1)
            account[a.account] = above if a.shares is None else add(above, a.shares, False)
        waiting = [a for a in waiting if a.account not in account]
    leaf: dict[tuple[str, str, str], int] = {}
    for a in site.accounts.associations:
        if a.user:
            above = account.get(a.account, -1)
            leaf[a.account, a.user, a.partition] = add(above, _MANY if a.shares is None else a.shares, True)
    kind, first = jobs.alike(jobs.text["account"], jobs.text["user"], jobs.text["partition"])
    of, strange = np.zeros(len(first), np.int64), set[str]()
    for k, j in enumerate(first):
        who = (str(jobs.text["account"][j]), str(jobs.text["user"][j]))
        found = leaf.get((*who, jobs.text["partition"][j]), leaf.get((*who, "")))
        if found is None:
            strange.add(f"{who[1]} in {who[0]}")
            if who[0] not in account:
                account[who[0]] = add(-1, 1.0, False)
            found = leaf[(*who, "")] = add(account[who[0]], 1.0, True)
        of[k] = found
    if strange:
        doubts.append(
            f"{counted(len(strange), 'user')} of the log had no association in the settings and got one share each in "
            "the replay."
        )
    kept = np.array(is_user)  # an account without users has no part
    for k in reversed(range(len(parents))):
        if kept[k] and parents[k] >= 0:
            kept[parents[k]] = True
    new = np.append(np.cumsum(kept) - 1, -1)
    return {
        "parent": new[np.array(parents)][kept], "shares": np.array(shares)[kept],
        "usage": np.zeros(int(kept.sum())), "association": new[of[kind]],
    }  # fmt: skip


class Limit(NamedTuple):
    """A number that some jobs together may not exceed."""

    of: tuple[str, ...]  #: what the jobs have in common
    tres: str  #: the counted resource, ``jobs`` for jobs
    most: float
    binds: bool = True  #: true if it can hold the job back; the job always counts in it


def caps(site: Site, jobs: Jobs, doubts: list[str]) -> dict[str, Any]:
    """Find the limits of each job, as fields of `Rules`; none if ``AccountingStorageEnforce`` names no limits.

    A limit that a job exceeds alone did not exist when it ran, and does not hold it back. A limit of an account does
    not hold back the jobs of a QOS that sets the same limit, but they still count in it.
    """
    if not site.is_enforced:
        return {}
    named = {(a.account, a.user): a for a in site.accounts.associations}
    kind, first = jobs.alike(*(jobs.text[name] for name in ("account", "user", "partition", "qos")))
    of = []
    for j in first:
        account, user, qos = (str(jobs.text[name][j]) for name in ("account", "user", "qos"))
        partition = jobs.partition[j]
        found = list(_of_qos(site, ["" if partition is None else partition.qos, qos], account, user))
        set_by_qos = {limit.tres for limit in found if len(limit.of) == 2}
        for limit in _of_accounts(named, account, user):
            found.append(limit._replace(binds=limit.of[0] == "user" or limit.tres not in set_by_qos))
        of.append([limit for limit in found if limit.tres in jobs.tres])
    every = list(dict.fromkeys(limit._replace(binds=True) for found in of for limit in found))
    table = np.full((len(first), max(map(len, of), default=0)), -1)
    takes, binds = np.zeros((len(kind), table.shape[1])), np.ones((len(kind), table.shape[1]), np.bool_)
    for k, found in enumerate(of):
        for column, limit in enumerate(found):
            table[k, column] = every.index(limit._replace(binds=True))
            binds[kind == k, column] = limit.binds
            takes[kind == k, column] = jobs.tres[limit.tres][kind == k]
    most = np.array([limit.most for limit in every])
    of_jobs = table[kind]
    broken = (of_jobs >= 0) & binds & (takes > np.append(most, np.inf)[of_jobs])
    if broken.any():
        limit = every[of_jobs[broken][0]]
        doubts.append(
            f"{counted(int(broken.any(axis=1).sum()), 'job')} ran above a limit of the settings, the first above "
            f"{limit.most:g} {limit.tres} of {limit.of[0]}; these limits are ignored for these jobs."
        )
    return {"cap": most, "caps": of_jobs, "takes": takes, "binds": binds & ~broken}


def _of_qos(site: Site, names: list[str], account: str, user: str) -> Iterator[Limit]:
    """Yield the limits of the partition's QOS, and of the job's QOS where the former sets none of the kind."""
    seen = set[tuple[str, str]]()
    for name in filter(None, names):
        fields, fresh = site.accounts.qos.get(name, {}), set[tuple[str, str]]()
        kinds = ("grp", ()), ("user", (user,)), ("account", (account,))
        for (what, who), (tres, count) in zip(kinds, _QOS, strict=True):
            for resource, most in _limits(fields, tres, count).items():
                if (what, resource) not in seen:
                    fresh.add((what, resource))
                    yield Limit(("qos", name, what, *who) if who else ("qos", name), resource, most)
        seen |= fresh


def _of_accounts(named: Mapping[tuple[str, str], Association], account: str, user: str) -> Iterator[Limit]:
    """Yield the limits of a user in an account, of the account, and of all accounts above it."""
    chain = [named[account, user]] if user and (account, user) in named else []
    while (account, "") in named and len(chain) < len(named):
        chain.append(named[account, ""])
        account = chain[-1].parent
    for a in chain:
        for resource, most in _limits(a.fields, "grptres", "grpjobs").items():
            yield Limit(("account", f"{a.account}/{a.user}"), resource, most)
    own = next((a.fields["maxjobs"] for a in chain if a.fields.get("maxjobs", "").isdecimal()), None)
    if own is not None and chain[0].user:  # a limit of each user, even if the account sets it
        yield Limit(("user", chain[0].account, user), "jobs", float(own))


_QOS: Final = ("grptres", "grpjobs"), ("maxtrespu", "maxjobspu"), ("maxtrespa", "maxjobspa")


def _limits(fields: Fields, tres: str, jobs: str) -> dict[str, float]:
    """Return limits of resources, and of the number of jobs."""
    count = fields.get(jobs, "")
    return resources(fields.get(tres, "")) | ({"jobs": float(count)} if count.isdecimal() else {})
