"""On which nodes of a site the jobs of a trace may run: ``--partition``, ``--constraint``, ``--gres``, CPUs, memory.

Source: the manual page of sbatch (slurm.schedmd.com/sbatch.html).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.site import GPU, Site
from astraea.cluster.site_jobs import Jobs
from astraea.core.arrays import BoolArray
from astraea.core.text import counted
from astraea.traces.slurm_words import hosts_of


def places(site: Site, jobs: Jobs, cluster: Cluster, doubts: list[str]) -> dict[str, Any]:
    """Find the nodes of the partition with the features, GPUs, CPUs and memory that each job asks for."""
    asked = [jobs.text[name] for name in ("partition", "constraint", "gpu_type")]
    kind, first = jobs.alike(*asked, jobs.nodes, *(jobs.tres[name] for name in (site.resource, "cpu", "mem")))
    per_node = {name: np.array([node.tres.get(name, 0.0) for node in site.nodes]) for name in jobs.tres}
    seen: dict[bytes, int] = {}
    rows, of, impossible = list[BoolArray](), np.zeros(len(first), np.int64), 0
    for k, j in enumerate(first):
        many = jobs.nodes[j] or max(1, int(-(-jobs.demand[j] // cluster.gpus_per_node)))
        partition = jobs.partition[j]
        inside = np.ones(len(site.nodes), np.bool_) if partition is None else partition.nodes
        named = _has_features(jobs.text["constraint"][j], [node.features for node in site.nodes])
        fits = per_node[site.resource] >= np.ceil(jobs.demand[j] / many)
        for model in filter(None, jobs.text["gpu_type"][j].split(",")):
            typed = per_node.get(f"{GPU}:{model}", np.zeros(len(site.nodes)))
            fits &= typed >= (np.ceil(jobs.demand[j] / many) if "," not in jobs.text["gpu_type"][j] else 1)
        holds = fits & (per_node["cpu"] >= jobs.tres["cpu"][j] / many) & (per_node["mem"] >= jobs.tres["mem"][j] / many)
        choices = (inside & named & holds, inside & named & fits, inside & fits, fits)
        found = next((c for c in choices if c.sum() >= many), np.ones(len(site.nodes), np.bool_))
        impossible += int((kind == k).sum()) if found is not choices[0] and found is not choices[1] else 0
        of[k] = seen.setdefault(found.tobytes(), len(rows))
        if of[k] == len(rows):
            rows.append(found)
    if impossible:
        doubts.append(
            f"By the settings, {counted(impossible, 'job')} that ran had no place: features, GPUs or partitions are "
            "not those of the time of the log."
        )
    allowed, number_of = np.array(rows), {node.name: k for k, node in enumerate(site.nodes)}
    lists = jobs.text["node_list"]
    hosts = {text: [number_of.get(host, -1) for host in hosts_of(text)] for text in set(lists)}
    ran = [hosts[text] for text in lists]
    elsewhere = sum(not allowed[of[kind[j]], hosts].all() for j, hosts in enumerate(ran) if hosts and min(hosts) >= 0)
    unknown = sum(min(hosts, default=0) < 0 for hosts in ran)
    where = (elsewhere, "where the settings do not allow them"), (unknown, "on nodes that the settings do not name")
    for number, what in where:
        if number:
            doubts.append(f"{counted(number, 'job')} ran {what}.")
    by_partition = {id(None): 0}
    sets = [np.ones(len(site.nodes), np.bool_)]
    for p in site.partitions.values():
        by_partition[id(p)] = len(sets)
        sets.append(p.nodes)
    return {
        "allowed": allowed,
        "kind": of[kind],
        "partition": np.array([by_partition[id(p)] for p in jobs.partition], dtype=np.int64),
        "partition_nodes": np.array(sets),
    }


def _has_features(constraint: str, features: list[frozenset[str]]) -> BoolArray:
    """Which nodes have what ``--constraint`` asks for: ``a&b``, ``a|b``, ``(a|b)&c``, ``[a|b]``, ``a*2``."""
    words = re.findall(r"[\w.:+-]+|[&|()]", re.sub(r"\*\d+", "", constraint.translate(str.maketrans("[],", "()&"))))
    if not any(word not in "&|()" for word in words):
        return np.ones(len(features), np.bool_)
    if re.search(r"\*\d", constraint):  # some nodes with one, some with another
        wanted = {word for word in words if word not in "&|()"}
        return np.array([bool(wanted & of) for of in features])
    at = 0

    def either(of: frozenset[str]) -> bool:
        nonlocal at
        found = both(of)
        while at < len(words) and words[at] == "|":
            at += 1
            found = both(of) | found
        return found

    def both(of: frozenset[str]) -> bool:
        nonlocal at
        found = one(of)
        while at < len(words) and words[at] == "&":
            at += 1
            found = one(of) & found
        return found

    def one(of: frozenset[str]) -> bool:
        nonlocal at
        word = words[at] if at < len(words) else ""
        at += 1
        if word != "(":
            return word in of
        found = either(of)
        at += 1  # ")"
        return found

    result = []
    for of in features:
        at = 0
        result.append(either(of))
    return np.array(result)
