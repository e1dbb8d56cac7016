"""The command `audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from astraea.cli import arguments as args
from astraea.cli import settings
from astraea.cli.forecast import in_log
from astraea.core.errors import InputError, extra
from astraea.core.files import publishing


@click.command("audit", cls=args.Command,
               short_help="show which jobs waited, why, and what other schedulers would do")  # fmt: skip
@args.trace
@settings.options
@click.option("--nodes", type=args.whole_number, metavar="N",
              help="number of machines (default: as many as the log shows in use)")  # fmt: skip
@click.option("--gpus-per-node", type=args.whole_number, metavar="N",
              help="GPUs per machine (default: as the log shows without --nodes, 8 with it)")  # fmt: skip
@click.option("--scheduler", default="slurm", metavar="NAME", help="scheduler of the cluster (see: astraea policies)")
@click.option("--param", type=lambda text: args.parameter(text, False), multiple=True, metavar="NAME=VALUE",
              help="parameter of that scheduler; may be repeated")  # fmt: skip
@click.option("--what-if", type=args.listed(str.strip), metavar="NAME,...",
              help="other schedulers to compare (default: {astraea.audit.audit:WHAT_IF})")  # fmt: skip
@click.option("--anonymize", is_flag=True, help="replace tenants by letters, users and jobs by numbers")
@args.path("--compare", "FILE", "audit.json of an earlier audit, to show what has changed")
@click.option("--would-start", metavar="JOB",
              help="only forecast when a job such as gpus=8,account=vision,time=4h would start; "
              "also user=, partition= and at=TIME")  # fmt: skip
@args.path("--out", "DIR", "folder for index.html, tables, audit.json and audit.prom")
def audit(nodes: int | None, gpus_per_node: int | None, scheduler: str, param: tuple[tuple[str, list[Any]], ...],
          what_if: list[str] | None, anonymize: bool, compare: Path | None, would_start: str | None, out: Path | None,
          slurm_conf: tuple[Path, ...], scontrol: tuple[Path, ...], sacctmgr: tuple[Path, ...],
          node_class: tuple[str, ...], **reading: Any) -> None:  # fmt: skip
    """Audit a cluster's log: which tenants got their share, which jobs waited and why, what other schedulers would do.

    With --would-start, forecast in five lines when a job would start if it is submitted at the end of the log, or at a
    given time.
    """
    if (out is None) == (would_start is None):
        raise click.UsageError("give either --out or --would-start")
    from astraea.audit.audit import WHAT_IF, anonymous, audit

    with extra("audit"):
        from astraea.audit.compare import changed, changes, figures, read_last
        from astraea.audit.page import short, write
        from astraea.audit.parts import section
        from astraea.audit.settings import plan_of, the_settings
    from astraea.audit.size import cluster_of
    from astraea.cluster.policies import get_policy
    from astraea.traces.named import named_trace
    from astraea.traces.slurm_words import GPU

    given = {name: values[0] for name, values in param}
    get_policy(scheduler)(**given)  # refused before a large log is read
    site = settings.site_of(slurm_conf, scontrol, sacctmgr, node_class, reading["weights"], reading["resource"])
    if nodes is not None and site.cluster is not None:
        raise InputError(f"--nodes: the cluster's settings already give {site.cluster} GPUs; leave --nodes out")
    if out is None:
        trace = named_trace(**reading)
        if reading["weights"] is None and reading["tenant"] in (None, "account"):
            trace, _ = settings.with_shares(trace, site, "")
        cluster = site.cluster or cluster_of(trace, nodes, gpus_per_node)[0]
        own = plan_of(site, trace, scheduler, given, cluster).own
        print(in_log(str(would_start), trace, cluster, own, site))
        return
    others = [get_policy(name).name for name in what_if or WHAT_IF]
    last = None if compare is None else read_last(compare)
    with publishing(out) as folder:
        trace = named_trace(**reading)
        shares = "The shares are equal, because none were given (--weights)."
        if reading["weights"] is None and reading["tenant"] in (None, "account"):
            trace, shares = settings.with_shares(trace, site, shares)
        elif reading["weights"] is not None:
            shares = f"The shares come from {'the given file' if anonymize else reading['weights'].name}."
        if reading["resource"] != GPU:
            shares += f" On this page, a GPU means {reading['resource']} in the log (--resource)."
        shown = anonymous(trace) if anonymize else trace
        cluster, said = (site.cluster, []) if site.cluster else cluster_of(shown, nodes, gpus_per_node)
        plan = plan_of(site, trace, scheduler, given, cluster)
        found = audit(shown, cluster, plan.own, others, plan.rules)
        more = [section("The size of the cluster", {"lines": said})] if said else []
        more.append(the_settings(plan, anonymize))
        if last:
            more.append(changed(last, figures(found)))
        write(found, shares, folder, more)
    for line in [*short(found, shares), *said, *plan.doubts, *(changes(last, figures(found)) if last else [])]:
        print(f"- {line}")
    print(f"\nfull report: {out / 'index.html'}")
