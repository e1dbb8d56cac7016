"""What the notebooks ask of the evaluation of [Ye2022]."""
