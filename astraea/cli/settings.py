"""Options that name a cluster's own settings, for commands that simulate what the cluster did, or will do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from astraea.cli import arguments as args

if TYPE_CHECKING:
    from astraea.cluster.site import Site
    from astraea.traces.trace import Trace

options: Final = args.together(
    args.path("--slurm-conf", "FILE", "the cluster's slurm.conf, or what scontrol show config printed; may be repeated",
              multiple=True),
    args.path("--scontrol", "FILE", "what scontrol show nodes, or show partition, printed; may be repeated",
              multiple=True),
    args.path("--sacctmgr", "FILE", "what sacctmgr dump, or show qos -P, printed; may be repeated", multiple=True),
    click.option("--node-class", multiple=True, metavar="NAME=NODES:GPUS[:FEATURE,...]",
                 help="nodes where no such file names them, with GPUs of type NAME; may be repeated"),
)  # fmt: skip
"""What `site_of` takes."""


def site_of(
    slurm_conf: tuple[Path, ...], scontrol: tuple[Path, ...], sacctmgr: tuple[Path, ...], node_class: tuple[str, ...],
    weights: Path | None, resource: str = "gres/gpu",
) -> Site:  # fmt: skip
    """Read the files that were given; a tree of accounts in `weights` (``sshare -P -a``) is one of them."""
    from astraea.cluster.site import read_site
    from astraea.traces.slurm_accounts import read_accounts

    files = [*slurm_conf, *scontrol]
    if files and weights is not None and read_accounts(weights) is not None:
        files.append(weights)
    return read_site([*files, *sacctmgr], node_class, resource)


def with_shares(trace: Trace, site: Site, otherwise: str) -> tuple[Trace, str]:
    """Give accounts the shares that the settings tell, if they tell those of all; and where shares are from."""
    from astraea.traces.slurm_accounts import shares_in_the_whole

    known = {name: share for name, share in shares_in_the_whole(site.accounts).items() if share > 0 and name != "root"}
    if not known:
        return trace, otherwise
    if not set(trace.tenants) <= set(known):
        return trace, "The shares are equal, as the settings do not name all accounts of the log (--weights)."
    return trace.with_weights(known), "The shares are those of the accounts (--sacctmgr)."
