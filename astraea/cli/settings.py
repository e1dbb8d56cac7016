"""Options for a cluster's own settings, for commands that simulate what the cluster did or will do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from astraea.cli import arguments as args

if TYPE_CHECKING:
    from astraea.cluster.site import Site
    from astraea.traces.trace import Trace

options: Final = args.together(
    args.path("--slurm-conf", "FILE", "slurm.conf, or the output of scontrol show config; may be repeated",
              multiple=True),
    args.path("--scontrol", "FILE", "output of scontrol show nodes, or show partition; may be repeated",
              multiple=True),
    args.path("--sacctmgr", "FILE", "output of sacctmgr dump, or show qos -P; may be repeated", multiple=True),
    click.option("--node-class", multiple=True, metavar="NAME=NODES:GPUS[:FEATURE,...]",
                 help="nodes with GPUs of type NAME, if no such file lists them; may be repeated"),
)  # fmt: skip
"""Options for the arguments of `site_of`."""


def site_of(
    slurm_conf: tuple[Path, ...], scontrol: tuple[Path, ...], sacctmgr: tuple[Path, ...], node_class: tuple[str, ...],
    weights: Path | None, resource: str = "gres/gpu",
) -> Site:  # fmt: skip
    """Read the given files; `weights` is one of them if it is a tree of accounts (``sshare -P -a``)."""
    from astraea.cluster.site import read_site
    from astraea.traces.slurm_conf import read_accounts

    files = [*slurm_conf, *scontrol]
    if files and weights is not None and read_accounts(weights) is not None:
        files.append(weights)
    return read_site([*files, *sacctmgr], node_class, resource)


def with_shares(trace: Trace, site: Site, otherwise: str) -> tuple[Trace, str]:
    """Give accounts their shares if the settings have those of all accounts; return the trace and their origin."""
    from astraea.traces.slurm_conf import shares_in_the_whole

    known = {name: share for name, share in shares_in_the_whole(site.accounts).items() if share > 0 and name != "root"}
    if not known:
        return trace, otherwise
    if not set(trace.tenants) <= set(known):
        return trace, "The shares are equal, because the settings do not name all accounts of the log (--weights)."
    return trace.with_weights(known), "The shares are those of the accounts (--sacctmgr)."
