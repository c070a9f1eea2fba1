"""Pages of priors and of a problem's history, and the pictures on them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from run_records import model_of, result_of, write

from automl.errors import SettingsError
from automl.home import Home
from automl.priors.general import LearnedPrior
from automl.reports.figure import Scale
from automl.reports.figures.curves import Interval, curves, density, intervals
from automl.reports.history_page import history_page, trained_models
from automl.reports.page import render
from automl.reports.priors import page_file
from automl.reports.priors_page import prior_density, priors_page
from automl.run_records.promotion import PromotionRecord
from automl.spaces.distributions import GaussianMixture, LogUniform

LOG = LogUniform(0.01, 100)
PEAK = GaussianMixture(
    weights=(0.8, 0.2), means=(0.0, 0.0), sds=(0.3, 20.0), low=0.01, high=100, log=True
)


def prior(signature):
    values = LOG.ppf(np.linspace(0.3, 0.7, 50))
    return LearnedPrior("classification", signature, "C", LOG, PEAK, values, 9, 90)


def words_at(figure):
    found = re.findall(r'<text x="([\d.]+)" y="([\d.-]+)"[^>]*>([^<]*)', figure.body)
    return {text: float(y) for _, y, text in found}


def test_names_of_curves_that_end_together_do_not_cover_each_other():
    lines = {name: [3.0, 1.0 + 0.001 * k] for k, name in enumerate("abcdefgh")}
    drawn = curves([1, 2], lines, title="t", description="d", labels=("trials", "rank"))
    places = sorted(words_at(drawn)[name] for name in lines)
    assert min(np.diff(places)) >= 12.9
    assert 0 < places[0] < places[-1] <= drawn.height
    assert drawn.table.rows[0] == ("a", 3.0, 1.0)


def test_a_number_without_an_interval_is_a_dot_alone():
    entries = [Interval("new", 0.9, 0.8, 0.95, is_marked=True), Interval("old", 0.7)]
    drawn = intervals(entries, title="t", description="d", label="score", first="run")
    assert drawn.body.count("<circle") == 2
    assert drawn.body.count('class="f-blue"') == 1
    assert drawn.body.count('class="f-muted"') == 0
    assert drawn.table.rows == (("new", 0.9, 0.8, 0.95), ("old", 0.7, None, None))


def test_one_number_has_an_axis():
    drawn = intervals(
        [Interval("only", 0.5)], title="t", description="d", label="score", first="run"
    )
    assert "nan" not in drawn.svg


def test_a_density_on_a_logarithmic_axis_is_drawn_over_powers():
    drawn = density([0.1, 1, 10], [0, 2, 0], title="t", description="d", label="C", is_log=True)
    assert "C, power of ten" in words_at(drawn)
    assert "the plain range" in drawn.body


def test_the_page_of_priors_has_a_section_for_each_family(tmp_path):
    page = priors_page([prior("svm/kernel=rbf"), prior("ridge")], "my priors.yaml")
    assert [section.title for section in page.sections] == [
        "What was learned", "svm, classification", "ridge, classification",
    ]  # fmt: skip
    assert "where kernel=rbf" in prior_density(prior("svm/kernel=rbf")).description
    assert "9 data sets" in render(page)
    assert page_file(tmp_path / "mine.yaml") == tmp_path / "mine.html"


def finished(home, started_at, registered, **promotion):
    folder = home.create_run()
    facts = {"settings": {"name": "beans"}, "data": {"rows": 90}, "status": "finished"}
    folder.write_facts({**facts, "run_id": folder.run_id, "started_at": started_at})
    record = PromotionRecord(**promotion)
    model = replace(model_of("done"), registered=registered)
    result = result_of(run_id=folder.run_id, problem="beans", promotion=record, model=model)
    write(folder, record, result)
    return folder.run_id


def test_the_history_tells_each_model_and_which_took_the_alias(tmp_path):
    home = Home(tmp_path)
    first = finished(home, 1.0, "beans/1@champion", promote=True, reason="the first one")
    second = finished(
        home, 2.0, "beans/2", promote=False, reason="not better", champion="beans/1",
        score=0.25, champion_score=0.5, pvalue=0.9,
    )  # fmt: skip
    models = trained_models(home, "beans")
    assert [model.choices.run_id for model in models] == [second, first]
    page = history_page(models, "beans")
    text = render(page)
    assert "1 of 2 models took the alias champion." in text
    table = page.sections[0].parts[-1].table
    taken = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["took it"] for row in taken] == ["no", "yes"]
    assert taken[0]["difference"] == -0.25
    assert taken[0]["compared with"] == "beans/1"


def test_a_problem_without_a_run_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="'peas' must be a problem with a finished run"):
        trained_models(Home(tmp_path), "peas")


def test_an_axis_has_two_numbers_also_where_few_round_ones_lie():
    assert Scale(0.86, 0.98, 0.0, 100.0).ticks(2) == [0.9, 0.95]
    assert len(Scale(0.101, 0.102, 0.0, 100.0).ticks(1)) >= 2


def test_curves_fill_their_axis():
    drawn = curves([2, 7], {"a": [1.0, 2.0]}, title="t", description="d", labels=("trials", "rank"))
    x = [float(place) for place in re.findall(r"[ML]([\d.]+) ", drawn.body)]
    assert max(x) - min(x) > 200
