"""Studies of the notebook on Themis [Mahajan2020] in its own setting."""
