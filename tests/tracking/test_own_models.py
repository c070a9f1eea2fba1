"""A registered model of this home is found without MLflow, and whoever names nothing hears what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.tracking.model_registry import find_bundle
from automl.tracking.own_models import own_bundle

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("warm_load"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PREDICT = """
import sys
from automl_flows.commands.cli import run
code = run(sys.argv[1:])
print(code, [name for name in ("mlflow", "prefect", "sklearn.utils._testing") if name in sys.modules])
"""


def test_names_lead_to_the_run_folder_and_errors_say_what_there_is(
    registered: RunFolder, home: Path
) -> None:
    for text in ("beans-label", "beans-label@champion", "beans-label/1", "beans-label/1@champion"):
        found = own_bundle(text, home)
        assert found is not None
        assert (found.folder, found.run_id) == (registered.bundle, registered.run_id)
    assert own_bundle("beans-label/9", home) is None
    assert own_bundle("peas-label", home) is None
    for text, message in (
        ("beans-label@nope", r"has no alias 'nope'; its aliases are champion \(version 1\)"),
        ("beans-label/9", "has no version '9'; it has 1"),
        ("bean-label", "'bean-label' is not registered; did you mean 'beans-label'"),
    ):
        with pytest.raises(SettingsError, match=message):
            find_bundle(text, home)
    with pytest.raises(SettingsError, match="has no alias 'nope'"):
        own_bundle("beans-label@nope", home)


def test_a_prediction_by_alias_loads_neither_mlflow_nor_all_of_scikit_learn(
    registered: RunFolder, home: Path, tmp_path: Path
) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("x,kind\n1,a\n40,b\n")
    given = ["predict", "beans-label@champion", str(table), "-o", str(tmp_path / "out.csv")]
    command = [sys.executable, "-c", PREDICT, *given, "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n", done.stderr
    assert (tmp_path / "out.csv").read_text() == "prediction\nno\nprediction\n"


def test_a_bundle_that_is_not_the_registered_one_is_not_taken(
    registered: RunFolder, home: Path
) -> None:
    manifest = registered.bundle / "manifest.json"
    manifest.write_text(manifest.read_text() + " ")
    assert own_bundle("beans-label@champion", home) is None
    assert find_bundle("beans-label@champion", home).folder != registered.bundle


def test_a_model_has_its_card_in_the_run_and_beside_it(registered: RunFolder, home: Path) -> None:
    from automl.tracking.outbox import Outbox
    from automl.tracking.store import open_store, store_address

    client = open_store(store_address(home))
    run = Outbox.load(registered.path / "outbox.json").parent
    card = Path(client.download_artifacts(run, "model_card.md", str(home))).read_text()
    found = find_bundle("beans-label/1", home).folder.parents[1] / "model_card.md"
    assert found.read_text() == card
    for line in (
        "# beans-label",
        "- It predicts `y`, one of no, prediction.",
        "| `x` | numeric | 0 to 49 | 0.0 % |",
        "| `kind` | nominal | a, b, c | 0.0 % |",
        "automl predict beans-label@champion TABLE -o OUT.csv",
    ):
        assert line in card
    for heading in (
        "Data and roles",
        "How good it is",
        "How it was chosen",
        "Limits",
        "How to use it",
    ):
        assert f"\n## {heading}\n" in card
