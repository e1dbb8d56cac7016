"""A papermill engine that sends a kernel nothing while it waits for the reply.

nbclient sends what an output widget shows back to the kernel, over the socket on which the reply comes. ZeroMQ reports
a message on a socket only once, and a send can consume that report. The reply is then never read, and papermill waits
for ever. A run with a slider hung like that on a busy machine.
"""

from __future__ import annotations

from typing import Any

from nbclient.output_widget import OutputWidget
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine


class SilentWidget(OutputWidget):
    """An output widget that shows its output, and does not send it back."""

    def send(self, *given: Any, **named: Any) -> None:
        """Send nothing."""


class _Client(PapermillNotebookClient):  # type: ignore[misc]
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.widget_registry = {"@jupyter-widgets/output": {"OutputModel": SilentWidget}}


class Engine(NBClientEngine):  # type: ignore[misc]
    """papermill's own engine, with such widgets."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Execute the notebook of papermill's manager `nb_man` in its folder, without a limit of time."""
        return _Client(nb_man, kernel_name=kernel_name, timeout=None, resources=options["resources"]).execute()
