"""Priors of hyperparameters that many data sets teach (B14, chapter 4)."""
