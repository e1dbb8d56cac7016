"""Coordinators as processes that can be killed and restarted at once: all code is compiled before a fork.

``python live_process.py live.toml log.txt``: each line on its input starts a coordinator, whose process id it prints.
A line ``wait ID`` prints the exit code of that one when it has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from astraea.core.errors import InputError
from astraea_ops.live.accounts import Accounts
from astraea_ops.live.config import Config, read_config
from astraea_ops.live.coordinator import serve

REFUSED = 2


def serve_here(config: Config, log: int) -> int:
    """Run a coordinator like a program of its own; return its exit code."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        serve(config)
    except InputError as err:
        print(f"astraea: {err}", file=sys.stderr, flush=True)
        return REFUSED
    return 0


def main() -> None:
    """Start coordinators until the input ends."""
    config = read_config(Path(sys.argv[1]))
    log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    accounts = Accounts(config.policy, config.interval, 8, config.weights)
    accounts.hear([], 1)
    accounts.choose([])
    accounts.carry_out()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.startswith("wait "):
            _, status = os.waitpid(int(line.split()[1]), 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = serve_here(config, log)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)


if __name__ == "__main__":
    main()
