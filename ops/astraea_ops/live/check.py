"""Check that Slurm has what the coordinator needs: settings, partitions, and the rights of the current user.

Slurm is only queried, not changed. It does not show ``job_submit.lua``, so that is not checked.

Source: the manual page of slurm.conf (slurm.schedmd.com), and ops/docs/live/coordinator.md, What Slurm needs.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea_ops.live.answers import SlurmError
from astraea_ops.live.config import Config
from astraea_ops.live.slurm import Slurm

OK, WARNING, MISSING = "ok", "warning", "missing"

OLDEST: Final = (22, 5)
"""The first version whose ``squeue --json`` can be read."""

PASSES: Final = {"sched_interval": 60, "bf_interval": 30}
"""Default time between passes of Slurm's two schedulers, if `SchedulerParameters` does not set it [s]."""

ROUNDS: Final = 3
"""Number of rounds for which Slurm must at least show a job that ended."""


class Finding(NamedTuple):
    """The result of checking one thing that the coordinator needs."""

    state: str  #: `OK`, `WARNING` or `MISSING`
    what: str
    found: str
    expected: str
    why: str

    def __str__(self) -> str:
        """Return the finding as one line."""
        line = f"{self.state:<8} {self.what}: {printable(self.found)}"
        return line if self.state == OK else f"{line}; expected {self.expected}: {self.why}"


def check(config: Config, slurm: Slurm | None = None) -> list[Finding]:
    """Check the Slurm of this machine, or `slurm`; `InputError` if slurmctld does not answer."""
    slurm = slurm or Slurm(config.partition, config.patience)
    try:
        settings = slurm.settings()
        return [*_settings(settings, config), *_partitions(config, slurm), _rights(settings, slurm)]
    except SlurmError as err:
        raise InputError(str(err)) from None


def _settings(found: Mapping[str, str], config: Config) -> Iterator[Finding]:
    def finding(name: str, is_good: bool, expected: str, why: str, otherwise: str = MISSING) -> Finding:
        return Finding(OK if is_good else otherwise, name, found.get(name, "not shown"), expected, why)

    def words(name: str) -> list[str]:
        return found.get(name, "").lower().split(",")

    def seconds(name: str) -> int:
        match = re.match(r"\d+", found.get(name, ""))
        return int(match[0]) if match else -1

    version = re.match(r"(\d+)\.(\d+)", found.get("SLURM_VERSION", ""))
    yield finding("SLURM_VERSION", version is not None and (int(version[1]), int(version[2])) >= OLDEST,
                  "22.05 or newer", "the coordinator cannot read the JSON of older versions")  # fmt: skip
    yield finding("JobSubmitPlugins", any(word.endswith("lua") for word in words("JobSubmitPlugins")), "lua",
                  "otherwise Slurm starts jobs without a lease, and users may release them")  # fmt: skip
    yield finding("KillWait", 0 <= seconds("KillWait") < config.policy.lease_term,
                  f"less than the lease term of {config.policy.lease_term:g} s",
                  "a job that ignores SIGTERM keeps its GPUs that long after its lease", WARNING)  # fmt: skip
    enough = ROUNDS * config.interval
    age = seconds("MinJobAge")
    yield finding("MinJobAge", age == 0 or age >= enough, f"at least {enough:g} s, {ROUNDS} rounds",
                  "squeue forgets jobs before a round has seen their end")  # fmt: skip
    passes = dict(word.split("=", 1) for word in words("SchedulerParameters") if "=" in word)
    for name, default in PASSES.items():
        text = passes.get(name, f"{default}")
        is_soon = text.isdecimal() and int(text) <= config.interval
        yield Finding(OK if is_soon else WARNING, f"SchedulerParameters {name}",
                      text if name in passes else f"{text} by default", f"at most {config.interval:g} s, one round",
                      f"a job may start up to {text} s after its lease was granted")  # fmt: skip
    yield finding("JobRequeue", found.get("JobRequeue") == "1", "1", "otherwise jobs keep their GPUs until they end")
    yield finding("GresTypes", "gpu" in words("GresTypes"), "gpu", "otherwise Slurm does not know about GPUs")
    yield finding("SelectType", found.get("SelectType") == "select/cons_tres", "select/cons_tres",
                  "only this plugin allocates single GPUs of a node")  # fmt: skip
    dbd = "accounting_storage/slurmdbd"
    yield finding("AccountingStorageType", found.get("AccountingStorageType") == dbd, dbd,
                  "sacct must tell which jobs ended while the coordinator was away")  # fmt: skip
    yield finding("AccountingStorageTRES", "gres/gpu" in words("AccountingStorageTRES"), "gres/gpu",
                  "otherwise Slurm does not show how many GPUs a job asks for")  # fmt: skip
    if config.tenant != "user":
        enforced = {"associations", "limits", "qos", "safe", "wckeys", "all"} & {*words("AccountingStorageEnforce")}
        yield finding("AccountingStorageEnforce", bool(enforced), "associations",
                      f"otherwise users can give any {config.tenant}, and so choose their tenant")  # fmt: skip
    yield finding("PreemptType", found.get("PreemptType") in ("preempt/none", "(null)"), "preempt/none",
                  "a job that Slurm itself preempts loses its lease", WARNING)  # fmt: skip


def _partitions(config: Config, slurm: Slurm) -> Iterator[Finding]:
    nodes = slurm.places()
    ours = config.partition.split(",")
    for name in ours:
        here = [place for place in nodes if place.partition == name]
        what = f"partition {name}"
        if not here:
            there = ", ".join(sorted({place.partition for place in nodes})) or "none"
            yield Finding(MISSING, what, "does not exist or has no nodes", f"one of {there}", "its jobs get the leases")
            continue
        gpus = {place.node for place in here if place.has_gpus}
        others = sorted({p.partition for p in nodes if p.node in gpus and p.partition not in ours})
        if not all(place.is_up for place in here):
            yield Finding(MISSING, what, "not up", "State=UP", "otherwise Slurm starts no job in it")
        elif not gpus:
            yield Finding(MISSING, what, "no node has a GPU", "nodes with Gres=gpu:N", "leases are for GPUs")
        elif others:
            yield Finding(WARNING, what, f"shares nodes with {', '.join(others)}", "nodes of its own",
                          "GPUs held by jobs of other partitions count as absent")  # fmt: skip
        else:
            yield Finding(OK, what, f"up, {len(gpus)} nodes with GPUs", "", "")


def _rights(settings: Mapping[str, str], slurm: Slurm) -> Finding:
    """Check what Slurm allows the user of this process to do."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    expected, why = "Operator", "lower levels cannot set priorities, or hold and requeue other users' jobs"
    if os.geteuid() == 0:
        return Finding(WARNING, "AdminLevel", "root, who may do anything", "the user of the service",
                       "that user's rights count; run this check as that user")  # fmt: skip
    if settings.get("SlurmUser", "").startswith(f"{user}("):
        return Finding(OK, "AdminLevel", f"{user} is SlurmUser", expected, why)
    try:
        level = slurm.admin_level(user)
    except SlurmError as err:
        return Finding(MISSING, "AdminLevel", str(err), f"{expected} for {user}", why)
    is_enough = level in ("Operator", "Administrator")
    found = f"{level or 'not a user in the accounting'} ({user})"
    return Finding(OK if is_enough else MISSING, "AdminLevel", found, expected, why)
