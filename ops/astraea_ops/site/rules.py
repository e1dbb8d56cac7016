"""`Rules` of a site: for each job of a trace its nodes, its place in the tree, its limits and its constant priority.

Sources: slurm.schedmd.com/priority_multifactor.html and the manual page of slurm.conf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.rules import Rules, no_rules
from astraea.core.arrays import FloatArray
from astraea.core.wording import counted
from astraea.traces.trace import Trace
from astraea_ops.site.accounts import caps, tree
from astraea_ops.site.jobs import Jobs
from astraea_ops.site.places import places
from astraea_ops.site.site import Site, number_in, together
from astraea_ops.slurm.words import resources


def rules(site: Site, trace: Trace, cluster: Cluster) -> tuple[Rules, list[str]]:
    """Resolve a site's configuration for each job of a trace; unknown parts are as without rules.

    Return also sentences about jobs for which the settings must be incomplete.
    `cluster` is that of the site, or the given one if the site names no nodes. The trace's `details` have what each job
    asked for.
    """
    plain, doubts = no_rules(trace, cluster), list[str]()
    if trace.details is None:
        return plain, ["The log does not have the accounts, partitions and constraints of its jobs."]
    jobs = Jobs(site, trace, cluster.nodes)
    if jobs.on_others.any():
        doubts.append(
            f"{counted(int(jobs.on_others.sum()), 'job')} asked for more than the {counted(cluster.nodes, 'node')} of "
            "the cluster; in the replay they get as few as hold their GPUs."
        )
    changes: dict[str, Any] = {"nodes": jobs.nodes}
    if site.nodes:
        changes |= places(site, jobs, cluster, doubts)
    tier = [1 if p is None else p.tier for p in jobs.partition]
    changes["tier"] = np.array(tier, dtype=np.int64)
    if site.accounts.associations:
        changes |= tree(site, jobs, doubts)
    changes["charge"] = _charge(site, jobs)
    changes["bonus"] = _bonus(site, jobs, doubts)
    return plain._replace(**changes, **caps(site, jobs, doubts)), doubts


def _charge(site: Site, jobs: Jobs) -> FloatArray:
    """Return the billing units of each job: weights of its partition, else its CPUs, times the UsageFactor."""
    cpus = jobs.tres["cpu"] if (jobs.tres["cpu"] > 0).all() and site.conf.partitions else jobs.demand
    charge = cpus.copy()
    for partition in {id(p): p for p in jobs.partition if p is not None and p.billing}.values():
        mine = np.array([p is partition for p in jobs.partition])
        parts = [weight * jobs.tres[name] for name, weight in partition.billing.items() if name in jobs.tres]
        most_or_sum = np.max if "MAX_TRES" in site.flags else np.sum
        charge = np.where(mine, most_or_sum([np.zeros(jobs.n), *parts], axis=0), charge)
    factor = {name: number_in(fields.get("usagefactor") or "1") for name, fields in site.accounts.qos.items()}
    return charge * np.array([factor.get(name, 1.0) for name in jobs.text["qos"]])


def _bonus(site: Site, jobs: Jobs, doubts: list[str]) -> FloatArray:
    """Return the constant part of each priority: job size, TRES, QOS and partition factors times their weights."""
    bonus, every = np.zeros(jobs.n), together(site.all_nodes)
    weight = site.weight("jobsize")
    if weight and every and not every.get("cpu"):
        doubts.append("Priorities leave out the size of jobs, because the CPUs of the nodes are not known.")
    elif weight and every:
        cpus = np.minimum(jobs.tres["cpu"], every["cpu"])
        small = site.setting("priorityfavorsmall").upper() in ("YES", "1", "TRUE")
        if "SMALL_RELATIVE_TO_TIME" in site.flags:
            size = jobs.tres["cpu"] / jobs.minutes / every["cpu"]
        else:
            size = (jobs.tres["node"] / every["node"] + cpus / every["cpu"]) / 2
        bonus += weight * np.clip(1 - size if small else size, 0, 1)
    if weight := site.weight("qos"):
        priority = {name: number_in(fields.get("priority") or "0") for name, fields in site.accounts.qos.items()}
        most = 1.0 if "NO_NORMAL_QOS" in site.flags else max(priority.values(), default=0.0) or 1.0
        bonus += weight * np.array([priority.get(name, 0.0) / most for name in jobs.text["qos"]])
    if weight := site.weight("partition"):
        most = 1.0 if "NO_NORMAL_PART" in site.flags else max((p.factor for p in site.partitions.values()), default=1.0)
        bonus += weight * np.array([0.0 if p is None else p.factor / (most or 1.0) for p in jobs.partition])
    for name, weight in resources(site.setting("priorityweighttres")).items():
        of = np.array([(every if p is None else p.tres).get(name, 0.0) for p in jobs.partition])
        if name in jobs.tres:
            bonus += weight * np.divide(jobs.tres[name], of, out=np.zeros(jobs.n), where=of > 0)
    return bonus
