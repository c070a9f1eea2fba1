"""Records of the stages of a run: frozen, and able to write and read themselves."""
