"""Kernel settings of the project's notebooks; the Makefile points IPYTHONDIR here."""

c = get_config()  # noqa: F821  # given by IPython

# every start over TCP is reported as a warning, which would stand in the notebooks' outputs
c.IPKernelApp.log_level = 40

# no history file: it is of no use in a run without a person, and several kernels would contend for it
c.HistoryManager.enabled = False
