"""Kernels for notebooks that are run without a person, forked from a process that has imported what all of them import.

A kernel that starts from nothing takes three to four seconds of a core before the first figure; a fork takes a tenth.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Sequence
from typing import Any, Final

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

IMPORTED: Final = (
    "ipykernel.ipkernel", "ipykernel.kernelapp", "ipywidgets", "matplotlib_inline.backend_inline",
    "papers.claims.beside", "papers.claims.published", "papers.running.grids",
    "papers.gavel.study.pictures", "papers.market.study.pictures", "papers.themis.study.pictures",
    "papers.ye2022.estimate_pictures", "papers.ye2022.pictures",
    "papers.ye2022.released_pictures", "papers.ye2022.unbalanced",
    "papers.running.workloads",
)  # fmt: skip
"""Modules that the process imports before the first kernel, in order; none of them starts a thread."""


class _Process:
    """A forked kernel as jupyter_client knows processes: as `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: Sequence[str], folder: str | None, environment: dict[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(IMPORTED))
        self.forked = context.Process(target=_kernel, args=(list(arguments), folder, environment))
        self.forked.start()
        self.pid = self.forked.pid

    def poll(self) -> int | None:
        return self.forked.exitcode

    def wait(self) -> int | None:
        self.forked.join()
        return self.forked.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid is not None and self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.forked.kill()

    def terminate(self) -> None:
        self.forked.terminate()


class _Forking(LocalProvisioner):
    """Starts a kernel by a fork."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        # the command is python -m ipykernel_launcher, and what the kernel is told
        process = _Process(cmd[3:], options.get("cwd"), options["env"])
        self.process = process  # type: ignore[assignment]
        self.pid = self.pgid = process.pid
        return self.connection_info


class ForkedKernel(AsyncKernelManager):
    """A kernel of the Python that runs this, forked."""

    async def _async_pre_start_kernel(self, **options: Any) -> Any:
        if self.provisioner is None:
            self.provisioner = _Forking(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**options)

    async def _async_interrupt_kernel(self) -> None:
        """Do nothing: only an end is announced like this, to a kernel that rests, and it might say so in the log."""


def _kernel(arguments: list[str], folder: str | None, environment: dict[str, str]) -> None:
    """Be a kernel until it is told to end, or nobody is left to tell it."""
    gc.freeze()  # what was imported stays, and need not be looked through for garbage again and again
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    if folder is not None:
        os.chdir(folder)
    from ipykernel.kernelapp import launch_new_instance

    # with a parent it does not print how to end it by hand
    launch_new_instance(argv=[*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
