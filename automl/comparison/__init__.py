"""Methods compared on many data sets: ranks, wins, tests, curves, and their records (SPEC L)."""
