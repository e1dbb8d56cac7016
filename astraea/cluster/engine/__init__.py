"""The simulator: state, rounds, events, placement, fairness integrals."""
