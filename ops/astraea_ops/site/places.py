"""Nodes of a site on which a trace's jobs may run: ``--partition``, ``--constraint``, ``--gres``, CPUs, memory.

Source: the manual page of sbatch (slurm.schedmd.com/sbatch.html).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import BoolArray, IntArray
from astraea.core.wording import counted
from astraea_ops.site.jobs import Jobs
from astraea_ops.site.site import Site
from astraea_ops.slurm.words import GPU, hosts_of


def places(site: Site, jobs: Jobs, cluster: Cluster, doubts: list[str]) -> dict[str, Any]:
    """Find the nodes on which jobs may run, as fields of `Rules`.

    They are the nodes of the partition with the features, GPUs, CPUs and memory that a job asks for. If they are too
    few, the log is right: first CPUs and memory are ignored, then features, then the partition.
    """
    asked = {name: jobs.tres[name] for name in (site.resource, GPU, "cpu", "mem")}
    kind, first = jobs.alike(*(jobs.text[name] for name in ("partition", "constraint", "gpu_type")), *asked.values(),
                             jobs.nodes)  # fmt: skip
    has = {name: np.array([node.tres.get(name, np.inf) for node in site.nodes]) for name in asked}
    models = {m: np.array([node.tres.get(f"{GPU}:{m}", 0.0) for node in site.nodes]) for m in jobs.models}
    seen: dict[bytes, int] = {}
    rows, of, impossible = list[BoolArray](), np.zeros(len(first), np.int64), 0
    for k, j in enumerate(first):
        many = jobs.nodes[j] or max(1, int(-(-jobs.demand[j] // cluster.gpus_per_node)))
        partition = jobs.partition[j]
        inside = np.ones(len(site.nodes), np.bool_) if partition is None else partition.nodes
        named = has_features(jobs.text["constraint"][j], [node.features for node in site.nodes])
        fits, holds = (
            np.all([has[name] >= np.floor(asked[name][j] / many) for name in names], axis=0)
            for names in ((site.resource, GPU), ("cpu", "mem"))
        )
        types = [m for m in jobs.text["gpu_type"][j].split(",") if m]
        for m in types:
            fits &= models[m] >= (asked[GPU][j] / many if len(types) == 1 else 1)
        choices = inside & named & fits & holds, inside & named & fits, inside & fits, fits, fits | True
        chosen = next((c for c, nodes in enumerate(choices) if nodes.sum() >= many), len(choices) - 1)
        impossible += int((kind == k).sum()) if chosen > 1 else 0
        of[k] = seen.setdefault(choices[chosen].tobytes(), len(rows))
        if of[k] == len(rows):
            rows.append(choices[chosen])
    if impossible:
        doubts.append(
            f"According to the settings, {counted(impossible, 'job')} that ran could not have run: features, GPUs or "
            "partitions have changed since the log."
        )
    allowed = np.array(rows)
    doubts += _ran_elsewhere(site, jobs, allowed, of[kind])
    used = list({id(p): p for p in jobs.partition}.values())
    index = {id(p): k for k, p in enumerate(used)}
    return {
        "allowed": allowed,
        "kind": of[kind],
        "partition": np.array([index[id(p)] for p in jobs.partition], dtype=np.int64),
        "partition_nodes": np.array([np.ones(len(site.nodes), np.bool_) if p is None else p.nodes for p in used]),
    }


def _ran_elsewhere(site: Site, jobs: Jobs, allowed: BoolArray, kind: IntArray) -> list[str]:
    """Count jobs that ran on nodes where the settings do not allow them, or that the settings do not name."""
    number_of = {node.name: k for k, node in enumerate(site.nodes)}
    hosts = {text: [number_of.get(host, -1) for host in hosts_of(text)] for text in set(jobs.text["node_list"])}
    elsewhere = unknown = 0
    for j, text in enumerate(jobs.text["node_list"]):
        if -1 in hosts[text]:
            unknown += 1
        elif hosts[text] and not allowed[kind[j], hosts[text]].all():
            elsewhere += 1
    counts = {"on nodes where the settings do not allow them": elsewhere, "on nodes that they do not name": unknown}
    return [f"{counted(number, 'job')} ran {what}." for what, number in counts.items() if number]


def has_features(constraint: str, features: list[frozenset[str]]) -> BoolArray:
    """Return which nodes satisfy a ``--constraint``: ``a&b``, ``a|b``, ``(a|b)&c``, ``[a|b]``, ``a*2``."""
    text = re.sub(r"\*\d+|[^\w.:+&|()-]", "", constraint.translate(str.maketrans("[],", "()&")))
    words = set(re.findall(r"[^&|()]+", text))
    if not words:
        return np.ones(len(features), np.bool_)
    has = {word: np.array([word in of for of in features]) for word in words}
    if re.search(r"\*\d", constraint):  # some nodes with one, some with another
        return np.any(list(has.values()), axis=0)

    def either(text: str) -> BoolArray:
        nowhere, parts = np.zeros(len(features), np.bool_), [part.split("&") for part in text.split("|")]
        return np.any([np.all([has.get(word.strip("()"), nowhere) for word in part], axis=0) for part in parts], axis=0)

    while inner := re.search(r"\(([^()]*)\)", text):
        has[f"#{len(has)}"] = either(inner[1])
        text = text.replace(inner[0], f"#{len(has) - 1}")
    return either(text)
