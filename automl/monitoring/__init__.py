"""What became of a model in use: a log of rows and predictions, and how far they have moved from the training table."""
