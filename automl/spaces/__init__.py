"""Search spaces: distributions, the hyperparameter tree, text files and encodings (B14, section 3.1)."""
