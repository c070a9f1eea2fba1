"""A model in use: its log of rows and predictions, and their drift from the training table."""
