"""A cluster's own configuration: nodes, partitions, accounts, limits and weights, and their effect on a trace's jobs.

`read_site` reads files of Slurm, `Site.cluster` makes a cluster from them, `Site.parameters` the parameters of policy
`slurm`, and `site_rules.rules` resolves the rest for each job of a trace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import BoolArray
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea_ops.slurm.conf import Accounts, Conf, Fields, is_flat, read_accounts, read_conf, seconds
from astraea_ops.slurm.words import GPU, hosts_of, resources


class Node(NamedTuple):
    """One machine."""

    name: str
    tres: Mapping[str, float]  #: ``cpu``, ``mem`` [MB], ``node``, ``gres/gpu`` and ``gres/gpu:TYPE``; 0 if not given
    features: frozenset[str]


class Partition(NamedTuple):
    """One partition."""

    name: str
    nodes: BoolArray  #: (nodes of the cluster,)
    tres: Mapping[str, float]  #: total of its nodes
    tier: int
    factor: float  #: PriorityJobFactor
    qos: str
    billing: Mapping[str, float]  #: TRESBillingWeights


@dataclass(frozen=True)
class Site:
    """A cluster as its own configuration describes it; see `read_site`.

    Attributes
    ----------
    conf : Conf
        ``slurm.conf``, or the output of ``scontrol show``.
    accounts : Accounts
        The output of ``sacctmgr`` or ``sshare``; empty if unknown.
    files : tuple of str
        Names of the files.
    resource : str
        The resource that the jobs of a trace ask for, ``gres/gpu`` or another TRES.
    """

    conf: Conf
    accounts: Accounts
    files: tuple[str, ...] = ()
    resource: str = GPU
    classes: tuple[Node, ...] = field(default=())
    gone: tuple[Node, ...] = ()  #: nodes that only the log has; they are in every partition

    @cached_property
    def all_nodes(self) -> tuple[Node, ...]:
        """All machines, in order, except those that do not exist yet (``State=FUTURE``)."""
        named = (_node(n, f) for n, f in self.conf.nodes.items() if "FUTURE" not in f.get("state", "").upper())
        return (*self.classes, *named, *self.gone)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The machines that have some of the resource, which make up the cluster."""
        return tuple(node for node in self.all_nodes if node.tres.get(self.resource, 0) >= 1)

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that the nodes make up; None if no nodes are known."""
        return Cluster.of([int(node.tres[self.resource]) for node in self.nodes]) if self.nodes else None

    @cached_property
    def partitions(self) -> dict[str, Partition]:
        """Partitions by name, the default one first."""
        named = self.conf.partitions.items()
        is_default = [f.get("default", "").upper() in ("YES", "TRUE", "1") for _, f in named]
        order = np.argsort(~np.array(is_default, dtype=np.bool_), kind="stable")
        found = [self._partition(name, fields) for name, fields in named]
        return {found[k].name: found[k] for k in order}

    def _partition(self, name: str, fields: Fields) -> Partition:
        listed = fields.get("nodes", "")
        names = self._hosts(listed if hosts_of(listed) else "ALL") | {node.name for node in self.gone}
        mine = [node for node in self.all_nodes if node.name in names]
        tier = number_in(fields.get("prioritytier") or fields.get("priority") or "1")
        factor = number_in(fields.get("priorityjobfactor") or fields.get("priority") or "1")
        qos = fields.get("qos", "")
        return Partition(
            name,
            np.array([node.name in names for node in self.nodes], dtype=np.bool_),
            together(mine),
            int(tier),
            factor,
            "" if qos.upper() in ("N/A", "(NULL)") else qos,
            resources(fields.get("tresbillingweights", ""), weights=True),
        )

    def _hosts(self, text: str, outer: tuple[str, ...] = ()) -> set[str]:
        """Return the nodes of a list that may name node sets; a set inside itself, one of `outer`, adds nothing."""
        found: set[str] = set()
        for name in hosts_of(text):
            if name.upper() == "ALL":
                found |= {node.name for node in self.all_nodes}
            elif name not in self.conf.sets:
                found.add(name)
            elif name not in outer:
                members = self.conf.sets[name]
                found |= self._hosts(members.get("nodes", ""), (*outer, name))
                wanted = set(filter(None, members.get("feature", "").split(",")))
                found |= {node.name for node in self.all_nodes if wanted & node.features}
        return found

    def setting(self, name: str, default: str = "") -> str:
        """Return a setting of ``slurm.conf`` by its name in lower case."""
        return self.conf.settings.get(name) or default

    def weight(self, name: str) -> float:
        """Return a ``PriorityWeight``; 0 if priorities are those of ``priority/basic``."""
        if "basic" in self.setting("prioritytype"):
            return 0.0
        return number_in(self.setting(f"priorityweight{name}", "0"))

    @cached_property
    def flags(self) -> frozenset[str]:
        """``PriorityFlags``, in capitals."""
        return frozenset(filter(None, self.setting("priorityflags").upper().replace(" ", "").split(",")))

    @cached_property
    def scheduling(self) -> dict[str, str]:
        """``SchedulerParameters`` by name, in lower case; "" for one without a value."""
        parts = self.setting("schedulerparameters").lower().replace(" ", "").split(",")
        return {name: value for name, _, value in (part.partition("=") for part in parts) if name}

    @property
    def is_enforced(self) -> bool:
        """True if limits of associations and of qualities of service are enforced."""
        words = self.setting("accountingstorageenforce").lower()
        return not self.conf.settings or bool(re.search(r"limits|safe|all|[1-9]", words))

    @property
    def parameters(self) -> dict[str, float | str]:
        """Parameters of the policy `slurm`, with Slurm's defaults for missing settings; empty without a file."""
        if not self.conf.settings:
            return {}
        get = self.scheduling.get
        builtin = "builtin" in self.setting("schedulertype")
        times = {
            "half_life": ("PriorityDecayHalfLife", "7-0"), "calc_period": ("PriorityCalcPeriod", "5"),
            "max_age": ("PriorityMaxAge", "7-0"),
        }  # fmt: skip
        found: dict[str, float | str] = {
            name: min(seconds(self.setting(key.lower(), usual), key), 1e12) for name, (key, usual) in times.items()
        }
        return found | {
            "weight_fairshare": self.weight("fairshare"),
            "weight_age": self.weight("age"),
            "weight_jobsize": 0.0,  # included in the constant part
            "backfill": "none" if builtin else "easy" if get("bf_job_part_count_reserve") == "1" else "conservative",
            "bf_resolution": number_in(get("bf_resolution", "60")),
            "bf_window": 60 * number_in(get("bf_window", "1440")),
            "bf_max_job_test": number_in(get("bf_max_job_test") or get("max_job_bf") or "500"),
            **self._pace,
        }

    @property
    def _pace(self) -> dict[str, float | str]:
        """Times at which the two schedulers pass, and the version's rules of backfill.

        The main one passes every `sched_interval`, and `batch_sched_delay` after an event. A single replay reads the
        clock half a second later, because a log in whole seconds hides that of each wait for a pass.
        """
        given = self.scheduling.get
        main = max(min(number_in(given("sched_interval", "60")), number_in(given("batch_sched_delay", "3"))), 0.5)
        backfill = number_in(given("bf_interval", "30"))
        found: dict[str, float | str] = {"interval": main + 0.5, "sched_interval": main, "bf_interval": backfill}
        versions = [self.setting("slurm_version"), *(node.get("version", "") for node in self.conf.nodes.values())]
        if known := [(int(v[1]), int(v[2])) for text in versions if (v := re.match(r"(\d+)\.(\d+)", text))]:
            rules = ("slurm-25.11", 25), ("slurm-24.11", 24), ("slurm-23.11", 23), ("slurm-22.05", 0)
            found["bf_rules"] = next(name for name, year in rules if max(known) >= (year, 11))
        return found


def read_site(paths: Sequence[Path], classes: Sequence[str] = (), resource: str = GPU) -> Site:
    """Read files of Slurm's configuration, each recognised by its content, into one site.

    `classes` adds nodes such as ``a100=4:8:fast,big``: type of GPUs, number of nodes, GPUs per node, features.
    `InputError` if a file is not one of Slurm's, or cannot be read at all.
    """
    conf, accounts = Conf({}, {}, {}, {}, []), Accounts([], {}, [])
    for path in paths:
        if (listed := read_accounts(path)) is not None:
            better = listed.associations and not (is_flat(listed) and accounts.associations)
            accounts = Accounts(
                listed.associations if better else accounts.associations,
                {**accounts.qos, **listed.qos},
                accounts.unread + listed.unread,
            )
        elif (found := read_conf(path)) is not None:
            for table in ("settings", "sets"):
                getattr(conf, table).update(getattr(found, table))
            for table in ("nodes", "partitions"):
                known = getattr(conf, table)
                known.update({name: {**known.get(name, {}), **f} for name, f in getattr(found, table).items()})
            conf.unread.extend(found.unread)
        else:
            raise InputError(
                f"{path}: expected slurm.conf, or the output of scontrol show config, nodes or partition, sacctmgr "
                "dump, sacctmgr show assoc tree -P, sacctmgr show qos -P or sshare -P -a"
            )
    nodes = tuple(node for text in classes for node in _class(text))
    return Site(conf, accounts, tuple(path.name for path in paths), resource, nodes)


def _class(text: str) -> list[Node]:
    """Return the nodes of ``name=count:gpus[:features]``."""
    found = re.fullmatch(r"([\w.-]+)=(\d{1,6}):(\d{1,6})(?::([\w,.-]+))?", text)
    if found is None:
        raise InputError(f"--node-class: expected NAME=NODES:GPUS[:FEATURE,...], got {printable(text)!r}")
    tres = {"node": 1.0, GPU: float(found[3]), f"{GPU}:{found[1]}": float(found[3])}
    features = frozenset(filter(None, (found[4] or "").split(",")))
    return [Node(f"{found[1]}-{k}", tres, features | {found[1]}) for k in range(1, int(found[2]) + 1)]


def _node(name: str, fields: Fields) -> Node:
    """Return a node from its fields in ``slurm.conf`` or ``scontrol show nodes``."""
    per = [number_in(fields.get(key) or "1") for key in ("sockets", "corespersocket", "threadspercore")]
    cpus = fields.get("cputot") or fields.get("cpus") or fields.get("procs")
    tres = {"node": 1.0, "cpu": number_in(cpus) if cpus else per[0] * per[1] * per[2]}
    tres["mem"] = number_in(fields.get("realmemory") or "0")
    gres = re.sub(r"\([^)]*\)", "", fields.get("gres", ""))
    for kind, model, count in re.findall(r"(\w+)(?::([a-zA-Z_][\w.-]*))?(?::no_consume)?(?::(\d+))?(?:,|$)", gres):
        for key in (f"gres/{kind}", *([f"gres/{kind}:{model}"] if model else [])):
            tres[key] = tres.get(key, 0.0) + float(count or 1)
    words = fields.get("availablefeatures") or fields.get("features") or fields.get("feature") or ""
    return Node(name, tres, frozenset(filter(None, words.replace("(null)", "").split(","))))


def together(nodes: Sequence[Node]) -> dict[str, float]:
    """Return the total resources of some nodes."""
    found: dict[str, float] = {}
    for node in nodes:
        for name, amount in node.tres.items():
            found[name] = found.get(name, 0.0) + amount
    return found


def number_in(text: str) -> float:
    """Return the number at the start of a text; 0 if there is none."""
    found = re.match(r"\d+(\.\d+)?", text.strip())
    return float(found[0]) if found else 0.0
