-- Roles and databases of Prefect and MLflow, for psql 14 or newer; the passwords come from the environment.
\set ON_ERROR_STOP on
\getenv prefect_password PREFECT_DB_PASSWORD
\getenv mlflow_password MLFLOW_DB_PASSWORD
create role prefect login password :'prefect_password';
create role mlflow login password :'mlflow_password';
create database prefect owner prefect;
create database mlflow owner mlflow;
create database mlflow_auth owner mlflow;
