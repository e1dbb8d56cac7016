"""Training that resumes where it was stopped: the job's side of a lease.

A job that runs under leases gets a signal when its lease is about to end, and is stopped by SIGTERM. When it gets the
next lease, its script starts again from the beginning. Three lines prepare a training script for that::

    from astraea_ops.checkpoint import checkpointed

    with checkpointed({"model": model, "optimizer": optimizer}, every=300) as saves:
        for epoch in saves.steps(100):
            train(model, optimizer)

At the start the state is restored from the newest complete save. It is saved at the end of a step, where it is
consistent. The first save comes after the first step, so that a state that cannot be saved shows at once. Later saves
come every 300 seconds, after a step during which the signal came, and at the end. If SIGTERM came during a step, the
state is saved and the program ends.

The signal is SIGUSR1 unless you choose another. It kills a process that does not expect it. Importing this module does
not change that; only the ``with`` does, and it restores the previous handlers when it ends. Before the ``with`` there
is nothing to save, so the batch script ignores the signal: ``trap '' USR1`` and then ``exec python train.py``. An
ignored signal stays ignored across ``exec``, and ``exec`` puts Python where Slurm sends the batch script's signals.

This folder needs only the standard library and nothing else from the package, so you can copy it next to a training
script, which then imports `checkpointed` from ``checkpoint``.
"""

from .loop import Saves, checkpointed
from .states import State, Stateful

__all__ = ["Saves", "State", "Stateful", "checkpointed"]
