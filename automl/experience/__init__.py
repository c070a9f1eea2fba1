"""Experience of data sets: facts, trials, and the knowledge that the package ships."""
