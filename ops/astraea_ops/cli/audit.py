"""The commands `audit`, which reads a cluster's log and settings, and `wait`, which asks a running Slurm."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from astraea.cli import arguments as args
from astraea.core.errors import InputError
from astraea.core.files import publishing

if TYPE_CHECKING:
    from astraea.traces.trace import Trace
    from astraea_ops.forecast.moment import Moment
    from astraea_ops.site.site import Site


@click.command("audit",
               short_help="show which jobs waited, why, and what other schedulers would do")  # fmt: skip
@args.trace
@args.path("--slurm-conf", "FILE", "slurm.conf, or the output of scontrol show config; may be repeated", multiple=True)
@args.path("--scontrol", "FILE", "output of scontrol show nodes, or show partition; may be repeated", multiple=True)
@args.path("--sacctmgr", "FILE", "output of sacctmgr dump, or show qos -P; may be repeated", multiple=True)
@click.option("--node-class", multiple=True, metavar="NAME=NODES:GPUS[:FEATURE,...]",
              help="nodes with GPUs of type NAME, if none of these files lists them; may be repeated")  # fmt: skip
@click.option("--nodes", type=args.whole_number, metavar="N",
              help="number of machines (default: as many as the log shows in use)")  # fmt: skip
@click.option("--gpus-per-node", type=args.whole_number, metavar="N",
              help="GPUs per machine (default: 8 with --nodes, otherwise as the log shows)")  # fmt: skip
@click.option("--scheduler", default="slurm", metavar="NAME", help="scheduler of the cluster (see: astraea policies)")
@click.option("--param", type=lambda text: args.parameter(text, False), multiple=True, metavar="NAME=VALUE",
              help="parameter of that scheduler; may be repeated")  # fmt: skip
@click.option("--what-if", type=args.listed(str.strip), metavar="NAME,...",
              help="other schedulers to compare (default: astraea, gandiva-fair, tiresias-l)")  # fmt: skip
@click.option("--anonymize", is_flag=True, help="replace tenants by letters, users and jobs by numbers")
@args.path("--compare", "FILE", "audit.json of an earlier audit, to show what has changed")
@click.option("--would-start", metavar="JOB",
              help="only forecast when a job such as gpus=8,account=vision,time=4h would start; "
              "also user=, partition= and at=TIME")  # fmt: skip
@args.path("--out", "DIR", "folder for index.html, tables, audit.json and audit.prom")
def audit(nodes: int | None, gpus_per_node: int | None, scheduler: str, param: args.Values,
          what_if: list[str] | None, anonymize: bool, compare: Path | None, would_start: str | None, out: Path | None,
          slurm_conf: tuple[Path, ...], scontrol: tuple[Path, ...], sacctmgr: tuple[Path, ...],
          node_class: tuple[str, ...], **reading: Any) -> None:  # fmt: skip
    """Audit a cluster's log: which tenants got their share, which jobs waited and why, what other schedulers would do.

    With --would-start, forecast in five lines when a job would start if it is submitted at the end of the log, or at a
    given time.
    """
    if (out is None) == (would_start is None):
        raise click.UsageError("give either --out or --would-start")
    from astraea_ops.audit.audit import WHAT_IF, anonymous, audit

    if out is not None:
        from astraea_ops.audit.compare import changed, changes, figures, read_last
        from astraea_ops.audit.page import short, write
        from astraea_ops.audit.sections import section
        from astraea_ops.audit.settings import the_settings
    from astraea.cluster.policies import get_policy
    from astraea.traces.named import named_trace
    from astraea_ops.audit.recorded import cluster_of, with_gone_nodes
    from astraea_ops.audit.replays import LARGEST_NODE, plan_of
    from astraea_ops.forecast.moment import queue_of, wish
    from astraea_ops.site.site import read_site
    from astraea_ops.slurm.conf import read_accounts
    from astraea_ops.slurm.words import GPU

    given = {name: values[0] for name, values in param}
    get_policy(scheduler).with_parameters(**given)  # refused before a large log is read
    files = [*slurm_conf, *scontrol]
    if files and reading["weights"] is not None and read_accounts(reading["weights"]) is not None:
        files.append(reading["weights"])  # sshare -P -a: a tree of accounts
    resource = reading["resource"] or GPU
    site = read_site([*files, *sacctmgr], node_class, resource)
    if nodes is not None and site.cluster is not None:
        raise InputError(f"--nodes: the cluster's settings already give {site.cluster} GPUs; leave --nodes out")
    others = [get_policy(name).name for name in what_if or WHAT_IF]
    last = None if compare is None or out is None else read_last(compare)
    with nullcontext() if out is None else publishing(out) as folder:
        trace, shares = named_trace(**reading), "The shares are equal, because none were given (--weights)."
        if reading["weights"] is not None:
            shares = f"The shares come from {'the given file' if anonymize else reading['weights'].name}."
        elif reading["tenant"] in (None, "account"):
            trace, shares = _with_shares(trace, site, shares)
        if resource != GPU:
            shares += f" On this page, a GPU means {resource} in the log (--resource)."
        shown = anonymous(trace) if anonymize else trace
        said: list[str] = []
        if out is not None:  # a forecast is for the nodes that are there
            site, said = with_gone_nodes(site, trace)
        cluster = site.cluster
        if cluster is None:
            cluster, said = cluster_of(shown, nodes, gpus_per_node)
        own, rules, doubts = plan_of(site, trace, scheduler, given, cluster)
        if out is None or folder is None:
            if own.name != "slurm":
                raise InputError(f"--would-start works with --scheduler slurm only, got {own.name}")
            _print_start(queue_of(trace, wish(str(would_start)), cluster, own, site))
            return
        if cluster.gpus_per_node > LARGEST_NODE:
            what = f"a node has {cluster.gpus_per_node:,} of {resource}, expected at most {LARGEST_NODE:,}"
            raise InputError(f"--resource: {what}; a replay would take hours, so name another, such as cpu or node")
        found = audit(shown, cluster, own, others, rules)
        more = [section("The size of the cluster", {"lines": said})] if said else []
        more.append(the_settings(site, own, doubts, anonymize))
        if last:
            more.append(changed(last, figures(found)))
        write(found, shares, folder, more, bool(site.files))
    news = changes(last, figures(found)) if last else []
    for line in [*short(found, shares, bool(site.files)), *said, *doubts, *news]:
        print(f"- {line}")
    print(f"\nfull report: {out / 'index.html'}")


def _with_shares(trace: Trace, site: Site, otherwise: str) -> tuple[Trace, str]:
    """Give accounts their shares if the settings have those of all accounts; return the trace and their origin."""
    from astraea_ops.slurm.conf import shares_in_the_whole

    known = {name: share for name, share in shares_in_the_whole(site.accounts).items() if share > 0 and name != "root"}
    if not known:
        return trace, otherwise
    if not set(trace.tenants) <= set(known):
        return trace, "The shares are equal, because the settings do not name all accounts of the log (--weights)."
    return trace.with_weights(known), "The shares are those of the accounts (--sacctmgr)."


@click.command("wait", short_help="forecast when a job would start if it were submitted now")
@click.argument("job", metavar="JOB")
@args.path("--jobs", "FILE", "output of squeue --json --states=all; by default Slurm is asked")
@args.path("--nodes", "FILE", "output of scontrol show nodes --json (on Slurm 22.05: sinfo --json)")
@args.path("--history", "FILE", "sacct -P log of earlier jobs (default, if Slurm is asked: the last week)")
@click.option("--param", type=lambda text: args.parameter(text, False), multiple=True, metavar="NAME=VALUE",
              help="parameter of the policy slurm; may be repeated")  # fmt: skip
def wait(job: str, jobs: Path | None, nodes: Path | None, history: Path | None, param: args.Values) -> None:
    """Forecast when JOB would start, for example gpus=8,account=vision,time=4h; user and partition are optional.

    The current queue is simulated many times, with the priorities that Slurm shows.
    """
    from astraea.cluster.policies import get_policy
    from astraea.traces.readers import read_trace
    from astraea_ops.forecast.moment import wish
    from astraea_ops.live.queue import ask, queue_now, read

    if (jobs is None) != (nodes is None):
        raise click.UsageError("give both --jobs and --nodes, or neither")
    asked, policy = wish(job), get_policy("slurm").with_parameters(**{name: values[0] for name, values in param})
    if asked.at is not None:
        raise InputError("a job: at=... is for logs (astraea audit --would-start); astraea wait forecasts from now")
    known = None if history is None else read_trace(history, format="slurm")
    if jobs is None or nodes is None:
        answers, log = ask()
        if known is None:
            with tempfile.TemporaryDirectory() as folder, suppress(InputError):  # nothing ran in that time
                path = Path(folder) / "sacct"
                path.write_text(log)
                known = read_trace(path, format="slurm")
    else:
        answers = read(jobs, nodes)
    _print_start(queue_now(answers, asked, policy, known))


def _print_start(moment: Moment) -> None:
    """Forecast the job in question, and print five lines about it."""
    from astraea_ops.forecast.start import would_start
    from astraea_ops.forecast.words import as_text

    print(as_text(would_start(moment), moment))
