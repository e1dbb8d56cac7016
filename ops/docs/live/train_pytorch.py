"""A small network, trained in epochs, that resumes after it was stopped: `sbatch train_pytorch.sbatch`."""

import argparse
import logging

import torch

from astraea_ops.checkpoint import checkpointed


class RandomNumbers:
    """The state of PyTorch's random numbers."""

    def state_dict(self) -> dict[str, object]:
        """Return the states of the CPU's generator and the GPUs'."""
        return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all()}

    def load_state_dict(self, state: dict) -> None:
        """Restore these states."""
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=600)
parser.add_argument("--samples", type=int, default=50_000)
arguments = parser.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
x = torch.randn(arguments.samples, 32, device=device)
y = (x.square().sum(1) > 32).long()
layers = torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 2)
model = torch.nn.Sequential(*layers).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# the number of the epoch is saved with the state
with checkpointed({"model": model, "optimizer": optimizer, "random": RandomNumbers()}, every=60) as saves:
    for epoch in saves.steps(arguments.epochs):
        total = 0.0
        for batch in torch.randperm(len(y)).split(256):
            loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1} of {arguments.epochs}: loss {total / len(y):.6f}", flush=True)
