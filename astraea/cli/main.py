"""The command line: `astraea simulate | sweep | lease-term | describe | policies | data | figures | ...`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from astraea.core.errors import InputError, PolicyError

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process if not given.

    Returns
    -------
    int
        Exit code: 0, or 2 after bad input, or 130 after Ctrl-C; what went wrong stands on the standard error stream
        in one sentence.
    """
    try:
        from astraea.cli.commands import parse  # takes a second: inside, so that Ctrl-C is met here

        arguments = parse(sys.argv[1:] if argv is None else argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse, after --help and --version
        return int(exit_.code or 0)
    except KeyboardInterrupt:
        return _stop("interrupted; nothing was left half written", INTERRUPTED)
    except (InputError, PolicyError) as error:
        return _stop(str(error))
    except BrokenPipeError:  # whoever read our output had enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _stop("not enough memory; try a smaller trace or fewer jobs at a time")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _stop(f"{place}{error.strerror or error}")


def _stop(sentence: str, code: int = BAD_INPUT) -> int:
    """Say what went wrong, on one line."""
    print(f"astraea: {' '.join(sentence.splitlines())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
