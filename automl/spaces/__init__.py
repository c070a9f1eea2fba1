"""Search spaces: distributions, the hyperparameter tree, text files and encodings (SPEC A)."""
