"""Slots of a Dask cluster: the driver's side, the workers' side, and what passes between them."""
