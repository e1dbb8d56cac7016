"""Kernel settings of the project's notebooks; the Makefile points IPYTHONDIR here."""

import os
import sys

c = get_config()  # noqa: F821  # given by IPython

# every start over TCP is reported as a warning, which would stand in the notebooks' outputs
c.IPKernelApp.log_level = 40

# no history file: it is of no use in a run without a person, and several kernels would contend for it
c.HistoryManager.enabled = False

# JOBS=, BACKEND= and SCHEDULER= of make hold for every sweep; a kernel that cannot do so ends and says why
if any(os.environ.get(name) for name in ("JOBS", "BACKEND", "SCHEDULER")):
    from astraea.core.errors import InputError
    from papers.workers import compute_as_asked

    try:
        compute_as_asked()
    except InputError as error:
        sys.exit(str(error))
