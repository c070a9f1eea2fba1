"""What the tracking server receives: the only package that imports mlflow.

A run never waits for MLflow. Its journal and stage records are the truth; a process of its own
(`mirror`) copies them, an outbox file remembers what was copied, and `sync` completes the rest.

::

    driver ──MirrorProcess──► python -m automl.tracking.mirror RUN_FOLDER ──► MLflow
                                   reads journal/ and stages/, writes outbox.json

`mirror_process`, `problem_experiment`, `links` and `outbox` load without mlflow; `store` imports it on first use.
"""
