"""Learning across data sets: meta-features, the memory of past runs, and what is learned from it."""
