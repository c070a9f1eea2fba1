"""From all trials to one champion: candidates, tests at every level of the tree, ranking (B14, section 3.5)."""
