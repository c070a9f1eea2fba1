"""What an import costs: the core loads nothing heavy, and nothing of the layers above it."""

import subprocess
import sys

import pytest

HEAVY = ("prefect", "dask", "distributed", "mlflow", "sklearn", "lightgbm", "matplotlib", "typer")
NOT_CORE = (".tracking", ".extreme_boosting", ".oblivious_boosting")  # the last two wrap extras
ORCHESTRATION = ("prefect", "dask", "distributed", "typer")


def loaded_by(statement, names):
    """Which of the modules a new interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*[n for n in {names!r} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "statement",
    [
        "import automl",
        "import automl.errors, automl.records, automl.settings, automl.home, automl.randomness",
        "import automl.optimizers.registry, automl.bandits.registry, automl.search.turns",
        "import automl.families.registry; automl.families.registry.families()",
        "import automl.tracking.mirror",
        "import automl_flows, automl_tasks",
    ],
)
def test_light_modules_load_nothing_heavy(statement):
    assert loaded_by(statement, HEAVY) == []


def test_the_records_of_a_run_can_be_read_without_its_libraries():
    names = (*HEAVY, "scipy", "pandas")
    assert loaded_by("import automl.run.stage_table, automl.run_state", names) == []


def test_a_run_that_prepares_its_end_does_not_load_all_of_scikit_learn():
    statement = "from automl.stages.outlook import warm_up; warm_up()"
    names = ("skops.io", "sklearn.gaussian_process", "sklearn.neural_network")
    assert loaded_by(statement, names) == ["skops.io"]


def test_the_whole_core_loads_no_orchestration():
    statement = (
        "import importlib, pkgutil, automl\n"
        "for found in pkgutil.walk_packages(automl.__path__, 'automl.'):\n"
        f"    if not any(part in found.name for part in {NOT_CORE}): "
        "importlib.import_module(found.name)"
    )
    assert loaded_by(statement, (*ORCHESTRATION, "mlflow", "automl_flows", "automl_tasks")) == []
