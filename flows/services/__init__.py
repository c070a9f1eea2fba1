"""Services around the runs: Prefect's server, MLflow's page, watched folders."""
