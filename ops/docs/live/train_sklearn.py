"""A linear classifier, trained in epochs, that resumes after it was stopped: `sbatch train_sklearn.sbatch`."""

import argparse
import logging

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

from astraea_ops.checkpoint import checkpointed

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=600)
parser.add_argument("--samples", type=int, default=200_000)
arguments = parser.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

x, y = make_classification(arguments.samples, n_features=50, random_state=1)
# whatever changes during training is part of the state, random numbers too
state = {"model": SGDClassifier(loss="log_loss", random_state=2), "random": np.random.default_rng(3)}

with checkpointed(state, every=60) as saves:
    for epoch in saves.steps(arguments.epochs):
        order = state["random"].permutation(len(y))
        state["model"].partial_fit(x[order], y[order], classes=[0, 1])
        print(f"epoch {epoch + 1} of {arguments.epochs}: accuracy {state['model'].score(x, y):.4f}", flush=True)
