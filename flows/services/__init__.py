"""What stands around the runs: Prefect's server, MLflow's page, folders that are watched."""
