"""The evaluation of [Ye2022], as the notebooks use it."""
