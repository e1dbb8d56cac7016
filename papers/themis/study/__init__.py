"""What the notebooks ask of Themis [Mahajan2020] in its own setting."""
