"""`astraea describe` and `astraea policies`: what there is."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from typing import Any

from astraea.cli import arguments as args
from astraea.cluster.engine.placement import PLACEMENTS
from astraea.cluster.policies import POLICIES
from astraea.cluster.simulate import Settings
from astraea.estimation.estimators import ESTIMATORS
from astraea.traces.describe import describe_text

#: what each field of `Settings` is
SETTINGS: dict[str, str] = {
    "interval": "s, time between scheduling rounds",
    "checkpoint_overhead": "s, GPUs are held without progress at the end of a lease",
    "restart_overhead": "s, cold start of a preempted job",
    "placement": f"one of {', '.join(PLACEMENTS)}",
    "estimator": f"one of {', '.join(ESTIMATORS)}: running times for policies that need them",
    "estimate_error": "mean absolute percentage error of the estimator noisy, 0.5 is 50 %",
}


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("describe", help="what a trace is like", description=describe.__doc__)
    args.add_trace(parser)
    parser.set_defaults(run=describe)
    parser = commands.add_parser("policies", help="schedulers and their parameters", description=policies.__doc__)
    parser.add_argument("--json", action="store_true", help="for a program")
    parser.set_defaults(run=policies)


def describe(arguments: argparse.Namespace) -> int:
    """Tell what was read from a trace, what was set aside and why, and its statistics."""
    print(describe_text(args.load(arguments)), end="")
    return 0


def policies(arguments: argparse.Namespace) -> int:
    """List the schedulers with source and parameters, and the settings of a simulation."""
    listed: dict[str, dict[str, Any]] = {
        name: {
            "source": policy.source,
            "parameters": {k: {"default": v, "meaning": policy.help[k]} for k, v in policy.as_text.items()},
        }
        for name, policy in POLICIES.items()
    }
    default = Settings()
    settings = {f.name: {"default": getattr(default, f.name), "meaning": SETTINGS[f.name]} for f in fields(Settings)}
    if arguments.json:
        print(json.dumps({"policies": listed, "settings": settings}, indent=2))
        return 0
    for name, policy in listed.items():
        print(f"{name}: {policy['source']}")
        _print_parameters(policy["parameters"])
    print("settings of every simulation, also given with --param:")
    _print_parameters(settings)
    return 0


def _print_parameters(table: dict[str, Any]) -> None:
    for name, about in table.items():
        default = about["default"]
        print(f"    {name:<20} {default if isinstance(default, str) else format(default, 'g'):>12}  {about['meaning']}")
