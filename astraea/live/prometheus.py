"""The state in Prometheus' text format, for the textfile collector of its node exporter.

Source: Prometheus, Exposition formats, text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
"""

from __future__ import annotations

from typing import Final

from astraea.core.text import labels_text
from astraea.core.units import HOUR
from astraea.live.status import Status

METRICS: Final = {
    "astraea_info": ("gauge", "Always 1; the labels give the partition and its policy."),
    "astraea_gpus": ("gauge", "GPUs of the partition, including those that cannot be used now."),
    "astraea_free_gpus": ("gauge", "GPUs available for leases: on nodes that are up, and held by no job."),
    "astraea_leases": ("gauge", "Running leases."),
    "astraea_last_round_timestamp_seconds": ("gauge", "Time of the last round, seconds since 1970."),
    "astraea_round_seconds": ("gauge", "Duration of the last round, including its commands to Slurm."),
    "astraea_rounds_total": ("counter", "Number of rounds."),
    "astraea_rounds_seconds_total": ("counter", "Total duration of all rounds."),
    "astraea_rounds_failed_total": ("counter", "Rounds that failed because of an error in the coordinator."),
    "astraea_tenant_weight": ("gauge", "Share of the tenant."),
    "astraea_tenant_quota_gpus": ("gauge", "Current quota of the tenant."),
    "astraea_tenant_held_gpus": ("gauge", "GPUs that the tenant holds under leases."),
    "astraea_tenant_waiting_gpus": ("gauge", "GPUs that the tenant's waiting jobs ask for."),
    "astraea_tenant_waiting_jobs": ("gauge", "Waiting jobs of the tenant."),
    "astraea_tenant_longest_wait_seconds": ("gauge", "Longest wait among the tenant's waiting jobs, 0 if none."),
    "astraea_tenant_attained_gpu_seconds": ("gauge", "GPU-time of the tenant; falls if a lease is refunded."),
    "astraea_tenant_owed_gpu_seconds": ("gauge", "GPU-time owed to the tenant over the same time."),
}
"""Type and meaning of each metric."""


def as_prometheus(found: Status) -> str:
    """Format all metrics, each with its type and meaning; every sample has the label `partition`."""
    whole = {"partition": found.partition}
    rows: dict[str, list[tuple[dict[str, str], float]]] = {
        "astraea_info": [(whole | {"policy": found.policy}, 1)],
        "astraea_gpus": [(whole, found.gpus)],
        "astraea_free_gpus": [(whole, found.free)],
        "astraea_leases": [(whole, len(found.leases))],
        "astraea_last_round_timestamp_seconds": [(whole, found.time)],
        "astraea_round_seconds": [(whole, found.round_seconds)],
        "astraea_rounds_total": [(whole, found.rounds)],
        "astraea_rounds_seconds_total": [(whole, found.rounds_seconds)],
        "astraea_rounds_failed_total": [(whole, found.failed)],
    }
    waited: dict[str, float] = {}
    for job in found.waiting:
        waited[job.tenant] = max(job.waited, waited.get(job.tenant, 0.0))
    for x in found.tenants:
        values = {
            "weight": x.weight, "quota_gpus": x.quota, "held_gpus": x.held, "waiting_gpus": x.waiting,
            "waiting_jobs": x.waiting_jobs, "longest_wait_seconds": waited.get(x.tenant, 0.0),
            "attained_gpu_seconds": x.attained * HOUR, "owed_gpu_seconds": x.owed * HOUR,
        }  # fmt: skip
        for name, value in values.items():
            rows.setdefault(f"astraea_tenant_{name}", []).append((whole | {"tenant": x.tenant}, value))
    lines: list[str] = []
    for name, (kind, meaning) in METRICS.items():
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels_text(labels)} {float(value)!r}" for labels, value in rows.get(name, ())]
    return "\n".join(lines) + "\n"
