"""Arguments that several commands share, and how their text is read."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NoReturn

from astraea.cluster.cluster import Cluster
from astraea.core.errors import InputError
from astraea.estimation.estimators import ESTIMATORS
from astraea.traces.named import FETCHED, SYNTHETIC, named_trace
from astraea.traces.readers import FORMATS, TIME_UNITS
from astraea.traces.trace import Trace


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that takes no shortened options and says in one sentence what is wrong."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Raise `InputError`."""
        raise InputError(f"{message} (see: {self.prog} --help)")


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Add TRACE and how to read it."""
    names = ", ".join((*SYNTHETIC, *FETCHED))
    parser.add_argument("trace", metavar="TRACE", help=f"a file, a folder, or one of {names}")
    parser.add_argument("--format", choices=FORMATS, help="of the file; recognised from its content if not given")
    parser.add_argument("--time-unit", choices=TIME_UNITS, help="of a tiresias-csv whose header does not tell it")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="share file, tenant and weight")


def add_cluster(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the size of the cluster."""
    many = " (several: 60,100)" if several else ""
    kind = whole_numbers if several else whole_number
    parser.add_argument("--nodes", type=kind, required=True, metavar="N", help=f"machines{many}")
    parser.add_argument("--gpus-per-node", type=whole_number, default=8, metavar="N", help="[GPU], default 8")


def add_parameters(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add --param."""
    form, what = ("NAME=VALUE,...", "values of a") if several else ("NAME=VALUE", "a")
    parser.add_argument(
        "--param", type=parameter, action="append", default=[], metavar=form,
        help=f"{what} parameter of the policy or of the simulation (see: astraea policies); may be repeated",
    )  # fmt: skip


def add_estimator(parser: argparse.ArgumentParser) -> None:
    """Add the two settings of estimates, which may also be given as --param."""
    parser.add_argument(
        "--estimator", metavar="NAME",
        help=f"where a policy that needs running times gets them: {', '.join(ESTIMATORS)} (default oracle)",
    )  # fmt: skip
    parser.add_argument(
        "--estimate-error", type=_value, metavar="X", help="mean error of the estimator noisy, 0.5 is 50 %%"
    )


def add_parallel(parser: argparse.ArgumentParser) -> None:
    """Add how a grid is run."""
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="processes; as many as cores if not given")
    parser.add_argument("--backend", choices=("loky", "dask"), default="loky", help="this machine, or a Dask cluster")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, tcp://host:port")


def load(arguments: argparse.Namespace, seed: int = 0) -> Trace:
    """Read the trace that `add_trace` asked for."""
    return named_trace(
        arguments.trace,
        format=arguments.format,
        time_unit=arguments.time_unit,
        weights=arguments.weights,
        seed=seed,
    )


def clusters(arguments: argparse.Namespace) -> list[Cluster]:
    """Make the clusters that `add_cluster` asked for."""
    nodes = arguments.nodes if isinstance(arguments.nodes, list) else [arguments.nodes]
    return [Cluster(n, arguments.gpus_per_node) for n in nodes]


def parameters(arguments: argparse.Namespace, *, several: bool = False) -> dict[str, list[Any]]:
    """Collect the values of --param by name, and the settings that have an option of their own."""
    found: dict[str, list[Any]] = {}
    for name, values in arguments.param:
        if name in found:
            raise InputError(f"--param {name}: given twice")
        if len(values) > 1 and not several:
            raise InputError(f"--param {name}: one value is expected, got {len(values)}")
        found[name] = values
    for name in ("estimator", "estimate_error"):
        value = getattr(arguments, name, None)
        if value is not None:
            if name in found:
                raise InputError(f"--param {name}: given twice")
            found[name] = [value]
    return found


def whole_number(text: str) -> int:
    """Read a whole number of at least 0."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {text!r}")
    return int(text)


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    return [whole_number(part) for part in text.split(",")]


def words(text: str) -> list[str]:
    """Read names with commas between them."""
    return [part.strip() for part in text.split(",")]


def parameter(text: str) -> tuple[str, list[float | str]]:
    """Read NAME=VALUE or NAME=VALUE,VALUE; what is no number stays text, for placement and estimator."""
    name, equals, values = text.partition("=")
    if not (name.strip() and equals and values.strip()):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), [_value(part.strip()) for part in values.split(",")]


def _value(text: str) -> float | str:
    if "_" in text:  # float() would read 9_00 as 900
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isnan(number):
        raise argparse.ArgumentTypeError(f"expected a number or a word, got {text!r}")
    return number
