"""Priors of hyperparameters that many data sets teach (SPEC O1, O2)."""
