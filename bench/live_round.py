"""Time of a round of the coordinator with a long queue, from recorded answers of Slurm to the decision.

``python bench/live_round.py --jobs 10000`` makes a queue of that many jobs in the form of ``squeue --json``,
runs some rounds, and prints the parts of each in seconds. It needs no Slurm.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from astraea.cluster.policies import get_policy
from astraea_ops.live.answers import jobs_of, nodes_of
from astraea_ops.live.config import Config
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.rounds import RELEASE, Rounds, Snapshot

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data" / "live"
NOW = 1_800_000_000.0


def answers(jobs: int, nodes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A queue of held jobs of eight tenants, and nodes of eight GPUs."""
    draw = random.Random(1)
    recorded = json.loads((RECORDED / "squeue.json").read_text())
    held = recorded["jobs"][1]
    queue = []
    for k in range(jobs):
        gpus = draw.choice([1, 1, 1, 2, 4, 8])
        tres = f"cpu=1,mem=1000M,node=1,billing={gpus},gres/gpu={gpus}"
        queue.append({**held, "job_id": k + 1, "account": f"team{k % 8}", "submit_time": int(NOW) - jobs + k,
                      "tres_per_job": "", "tres_per_node": f"gres:gpu:{gpus}", "tres_req_str": tres})  # fmt: skip
    node = json.loads((RECORDED / "sinfo.json").read_text())["nodes"][0]
    return {**recorded, "jobs": queue}, {"nodes": [{**node, "name": f"n{k}"} for k in range(nodes)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--policy", default="astraea")
    asked = parser.parse_args()
    queue, nodes = answers(asked.jobs, asked.nodes)
    with tempfile.TemporaryDirectory() as folder:
        policy = get_policy(asked.policy).with_parameters(lease_term=30)
        config = Config("gpu", Path(folder) / "state.sqlite", policy, history=0.0)
        rounds = Rounds(config, 8 * asked.nodes, NOW, None, lambda _: [])
        with closing(Ledger(config.state)) as ledger:
            print(f"{asked.jobs} jobs, {8 * asked.nodes} GPUs, policy {asked.policy}")
            print(f"{'round':>5} {'read [s]':>9} {'decide [s]':>10} {'write [s]':>9} {'all [s]':>8} {'released':>8}")
            for k in range(asked.rounds):
                text = json.dumps(queue)
                began = time.perf_counter()
                gc.disable()
                shown = jobs_of(json.loads(text)), nodes_of(nodes, "gpu")
                read = time.perf_counter()
                result = rounds.play(Snapshot(NOW + 10 * k, *shown))
                decided = time.perf_counter()
                ledger.write(result.state, result.over)
                end = time.perf_counter()
                gc.enable()
                released = {action.job.id for action in result.actions if action.what == RELEASE}
                print(f"{k:>5} {read - began:>9.3f} {decided - read:>10.3f} {end - decided:>9.3f} {end - began:>8.3f} "
                      f"{len(released):>8}")  # fmt: skip
                start(queue, released, NOW + 10 * k)


def start(queue: dict[str, Any], released: set[str], now: float) -> None:
    """Start released jobs; end those that have run for three rounds, and submit another for each."""
    jobs = queue["jobs"]
    for job in list(jobs):
        if str(job["job_id"]) in released:
            gpus = job["tres_per_node"].removeprefix("gres:")
            job.update(job_state="RUNNING", priority=1, start_time=int(now), gres_detail=[f"{gpus}(IDX:0)"],
                       tres_alloc_str=job["tres_req_str"],
                       job_resources={"allocated_nodes": [{"nodename": "n0"}]})  # fmt: skip
        elif job["job_state"] == "RUNNING" and job["job_id"] % 50 == 0:
            job.update(job_state="COMPLETED", end_time=int(now))
            new = copy.deepcopy(next(other for other in jobs if other["job_state"] == "PENDING"))
            jobs.append({**new, "job_id": len(jobs) + 1, "submit_time": int(now)})


if __name__ == "__main__":
    main()
