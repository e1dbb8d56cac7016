"""The cluster's own settings on the page: what was read, what the replay follows, and what it ignores, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

from astraea.cluster.policy import Policy
from astraea.core.wording import counted
from astraea_ops.audit.sections import Part, section, table_of
from astraea_ops.site.site import Site

MODELLED: Final = (
    "PriorityType", "PriorityDecayHalfLife", "PriorityCalcPeriod", "PriorityMaxAge", "PriorityFavorSmall",
    "PriorityWeightFairshare", "PriorityWeightAge", "PriorityWeightJobSize", "PriorityWeightQOS",
    "PriorityWeightPartition", "PriorityWeightTRES", "SchedulerType", "AccountingStorageEnforce", "BOOT_TIME",
)  # fmt: skip
"""Settings that the replay follows, as the manual page spells them."""

MODELLED_FLAGS: Final = (
    "MAX_TRES", "NO_NORMAL_QOS", "NO_NORMAL_PART", "SMALL_RELATIVE_TO_TIME", "FAIR_TREE", "CALCULATE_RUNNING",
)  # fmt: skip
"""`PriorityFlags` that it follows, or that make no difference to who waits."""

MODELLED_PARAMETERS: Final = (
    "bf_interval", "sched_interval", "batch_sched_delay", "bf_resolution", "bf_window", "bf_max_job_test", "max_job_bf",
    "bf_job_part_count_reserve",
)  # fmt: skip
"""`SchedulerParameters` that it follows."""

NOT_MODELLED: Final = {
    "PreemptType": "no job is preempted",
    "PrioritySiteFactorPlugin": "the site's part of a priority is unknown",
    "PriorityUsageResetPeriod": "usage is never set to 0",
    "PriorityWeightAssoc": "priorities of associations are ignored",
    "FairShareDampeningFactor": "Fair Tree does not use it",
    "TopologyPlugin": "switches are unknown",
    "Licenses": "licences are not counted",
    "JobSubmitPlugins": "the log has the jobs that they changed, not those that they refused",
    "SuspendProgram": "nodes are never asleep",
    "NodeFeaturesPlugins": "features do not change",
    "CompleteWait": "nodes are free as soon as a job has ended",
    "BurstBufferType": "burst buffers are not counted",
    "FederationParameters": "other clusters are unknown",
}  # fmt: skip
"""Settings that would change who waits, and the replay's behaviour instead."""

_USUAL: Final = (
    "", "none", "(null)", "0", "no", "off", "preempt/none", "topology/default", "topology/flat", "0 sec", "1",
)  # fmt: skip

_QOS: Final = (
    "GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxTRESMins", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "Preempt",
    "UsageThres", "Flags", "LimitFactor",
)  # fmt: skip
_ACCOUNT: Final = ("GrpTRESMins", "GrpTRESRunMins", "GrpWall")
_PARTITION: Final = ("OverSubscribe", "ExclusiveUser", "Exclusive", "LLN", "MaxCPUsPerNode", "PreemptMode")
_LIMITS: Final = ("GrpTRES", "GrpJobs", "MaxJobs")


def the_settings(site: Site, own: Policy, doubts: list[str], anonymize: bool = False) -> dict[str, Any]:
    """Make the section of the page; with `anonymize`, without names of accounts, users and files."""
    title = "The settings of the cluster"
    hidden = ("limit", *(("weight_jobsize", "favor_small") if site.conf.settings else ()))  # parts of the rules
    shown = {name: value for name, value in own.as_text.items() if name not in hidden}
    used = pd.DataFrame({"parameter": shown.keys(), "value": [_shown(value) for value in shown.values()]})
    assumed = (
        f"Weights and times of {own.name} come from --param, otherwise from this program, because no slurm.conf was "
        "given (--slurm-conf). Unless other settings say otherwise, all jobs may run on all nodes, all accounts are on "
        "one level, and there are no limits."
    )
    if not site.files and not site.classes:
        return section(title, assumed, table_of(used))
    nodes, of = counted(len(site.nodes), "node"), counted(len(site.partitions), "partition")
    accounts = sum(not a.user for a in site.accounts.associations)
    what = counted(len(site.files), "file") if anonymize else ", ".join(site.files) or "nodes of --node-class"
    read = (
        f"Read: {what}, with {counted(len(site.conf.settings), 'setting')}, "
        f"{nodes} with GPUs, {of}, {counted(accounts, 'account')} and {len(site.accounts.qos)} QOS."
    )
    kept, not_kept = list(_modelled(site)), list(_not_modelled(site))
    unread = [*site.conf.unread, *site.accounts.unread]
    if anonymize:
        named = "account ", "user ", "State"  # rows that name an account, a user or a node
        kept = [row for row in kept if not row[0].startswith(named)]
        not_kept = [row for row in not_kept if not row[0].startswith(named)]
        unread = [f"{counted(len(unread), 'line')} could not be read."] if unread else []
    parts: list[Part] = [read]
    if doubts or unread:
        parts.append({"lines": [*doubts, *unread]})
    if kept:
        parts += ["The replay follows:", table_of(pd.DataFrame(kept, columns=["setting", "value"]))]
    parts += ["Parameters of the replay:", table_of(used)]
    if not_kept:
        parts += ["The replay ignores:", table_of(pd.DataFrame(not_kept, columns=["setting", "value", "instead"]))]
    else:
        parts.append("None of the settings that this page looks for, because they affect who waits, is left out.")
    if not site.conf.settings:
        parts.append(assumed)
    return section(title, *parts)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.12g}"


def _modelled(site: Site) -> Iterator[tuple[str, str]]:
    """Yield settings that the replay follows."""
    for name in MODELLED:
        if value := site.setting(name.lower()):
            yield name, value
    for flag in sorted(site.flags & set(MODELLED_FLAGS)):
        yield "PriorityFlags", flag
    for name, value in site.scheduling.items():
        if name in MODELLED_PARAMETERS:
            yield f"SchedulerParameters {name}", value
    for name, partition in site.partitions.items():
        billing = ", ".join(f"{tres}={weight:g}" for tres, weight in partition.billing.items())
        yield f"partition {name}", (
            f"{counted(int(partition.nodes.sum()), 'node')}, PriorityTier {partition.tier}, PriorityJobFactor "
            f"{partition.factor:g}{f', QOS {partition.qos}' * bool(partition.qos)}"
            f"{f', TRESBillingWeights {billing}' * bool(billing)}"
        )
    shown = {"priority": "Priority", "usagefactor": "UsageFactor", "grptres": "GrpTRES", "grpjobs": "GrpJobs"}
    shown |= {"maxtrespu": "MaxTRESPerUser", "maxjobspu": "MaxJobsPerUser"}
    shown |= {"maxtrespa": "MaxTRESPerAccount", "maxjobspa": "MaxJobsPerAccount"}
    for name, fields in site.accounts.qos.items():
        yield f"QOS {name}", ", ".join(f"{shown[key]} {fields[key]}" for key in shown if fields.get(key))
    for a in site.accounts.associations:
        limits = [f"{name} {a.fields[name.lower()]}" for name in _LIMITS if a.fields.get(name.lower())]
        if limits and site.is_enforced:
            yield f"{'user' if a.user else 'account'} {a.user or a.account}", ", ".join(limits)


def _not_modelled(site: Site) -> Iterator[tuple[str, str, str]]:
    """Yield settings that would change who waits and that the replay ignores."""
    for name, instead in NOT_MODELLED.items():
        if (value := site.setting(name.lower())).lower() not in _USUAL:
            yield name, value, instead
    for flag in sorted(site.flags - set(MODELLED_FLAGS)):
        yield "PriorityFlags", flag, "ignored"
    for name, value in site.scheduling.items():
        if name not in MODELLED_PARAMETERS:
            yield f"SchedulerParameters {name}", value, "ignored"
    if "memory" in site.setting("selecttypeparameters").lower():
        value = site.setting("selecttypeparameters")
        yield "SelectTypeParameters", value, "memory decides on which nodes a job fits, not how many jobs fit together"
    if "linear" in site.setting("selecttype"):
        yield "SelectType", site.setting("selecttype"), "jobs share nodes"
    parts = (
        ("partition", site.conf.partitions, _PARTITION),
        ("QOS", site.accounts.qos, _QOS),
        ("account", {a.account: a.fields for a in site.accounts.associations if not a.user}, _ACCOUNT),
    )
    for what, things, fields in parts:
        for name, of in things.items():
            for field in fields:
                if (value := of.get(field.lower(), "")).lower() not in (*_USUAL, "unlimited", "1.000000", "cluster"):
                    yield f"{what} {name}", f"{field} {value}", "ignored"
    if len({of.get("weight", "1") for of in site.conf.nodes.values()}) > 1:
        yield "Weight", "of nodes", "nodes of one kind are treated alike"
    states = {name: of.get("state", "").upper() for name, of in site.conf.nodes.items()}
    if down := [name for name, state in states.items() if "DOWN" in state or "DRAIN" in state]:
        some = ", ".join(down[:5]) + " ..." * (len(down) > 5)
        yield "State of nodes", some, "nodes that are down or drained now count as up"
