"""Methods compared on many data sets: ranks, wins, tests, curves, and their records (L14, section 6.2; S15, section 4.3)."""
