"""The command line automl: one module for each group of commands."""
