"""Outside optimizers behind one interface, in a process of their own; needs nothing of automl.

With ``--available`` names those whose libraries are installed, as JSON. Else reads a job (see
`replay.reference_rows`) from standard input and writes one line of JSON per seed, or one for timed
asks. SMAC3 chooses from the list of candidates, as ours do: its acquisition is maximized over the
list, and its random configurations are drawn from it. Optuna and HEBO propose freely; they are
mapped to the nearest candidate that is not tried yet and are told that one.

All have their libraries' default settings, other than: the initial points are given; SMAC3
retrains after every trial (its default is every eighth), on one core, and its trees may have
`MOST_LEAVES` leaves (its default of 2**20 is not reached either, but is allocated for every tree,
which takes a second per ask). Optuna's Gaussian process and HEBO have no conditional
hyperparameters: what is not active is set to its default.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Values = dict[str, Any]
MOST_LEAVES = 4096
LIBRARIES = {
    "optuna_tpe": ("optuna",),
    "optuna_tpe_joint": ("optuna",),
    "optuna_gp": ("optuna", "torch"),
    "smac3": ("smac",),
    "hebo": ("hebo",),
}


class Reference(Protocol):
    """Scores are maximized."""

    def ask(self) -> Values: ...
    def tell(self, values: Values, score: float) -> None: ...


def is_active(parameter: Values, values: Values) -> bool:
    parent = parameter["parent"]
    return parent is None or values.get(parent[0]) in parent[1]


def active(parameters: list[Values], values: Values) -> Values:
    """Only the active hyperparameters."""
    found: Values = {}
    for parameter in parameters:
        if is_active(parameter, found):
            found[parameter["name"]] = values[parameter["name"]]
    return found


def encode(parameters: list[Values], values: Values) -> list[float]:
    """Numbers in [0, 1], indicators of choices, 0.5 where inactive, and a flag of activity."""
    row: list[float] = []
    for parameter in parameters:
        value = values.get(parameter["name"])
        if parameter["kind"] == "nominal":
            row += [float(value == choice) for choice in parameter["choices"]]
            continue
        low, high = parameter["low"], parameter["high"]
        if value is None:
            row += [0.5]
        elif parameter["log"]:
            row += [math.log(value / low) / math.log(high / low)]
        else:
            row += [(value - low) / (high - low)]
        if parameter["parent"] is not None:
            row += [float(value is not None)]
    return row


class Optuna:
    """A sampler of Optuna: `optuna_tpe`, `optuna_tpe_joint` (multivariate, grouped), `optuna_gp`."""

    def __init__(self, job: Values, seed: int, *, is_listed: bool) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = optuna.samplers
        name = job["optimizer"]
        self._optuna, self._is_flat = optuna, name == "optuna_gp"
        joint = {"multivariate": True, "group": True} if name == "optuna_tpe_joint" else {}
        kind = samplers.GPSampler if self._is_flat else samplers.TPESampler
        sampler = kind(seed=seed, **joint)
        self._parameters = job["parameters"]
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._distributions = {p["name"]: self._distribution(p) for p in self._parameters}

    def _distribution(self, parameter: Values) -> Any:
        kinds = self._optuna.distributions
        if parameter["kind"] == "nominal":
            return kinds.CategoricalDistribution(parameter["choices"])
        kind = kinds.IntDistribution if parameter["kind"] == "int" else kinds.FloatDistribution
        return kind(parameter["low"], parameter["high"], log=parameter["log"])

    def ask(self) -> Values:
        if self._is_flat:
            trial = self._study.ask(self._distributions)
            values = dict(trial.params)
        else:
            trial, values = self._study.ask(), {}
            for parameter in self._parameters:
                if is_active(parameter, values):
                    values[parameter["name"]] = self._suggest(trial, parameter)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return active(self._parameters, values)

    def _suggest(self, trial: Any, parameter: Values) -> Any:
        name = parameter["name"]
        if parameter["kind"] == "nominal":
            return trial.suggest_categorical(name, parameter["choices"])
        suggest = trial.suggest_int if parameter["kind"] == "int" else trial.suggest_float
        return suggest(name, parameter["low"], parameter["high"], log=parameter["log"])

    def tell(self, values: Values, score: float) -> None:
        if self._is_flat:
            values = {**{p["name"]: p["default"] for p in self._parameters}, **values}
        known = {name: self._distributions[name] for name in values}
        self._study.add_trial(
            self._optuna.trial.create_trial(params=values, distributions=known, value=score)
        )


class Smac3:
    """SMAC3's facade for hyperparameter optimization: forest, log expected improvement."""

    def __init__(self, job: Values, seed: int, *, is_listed: bool) -> None:
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario

        self._space = self._make_space(job["parameters"], seed)
        self._folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            self._space,
            deterministic=True,
            n_trials=100_000,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        listed = [self._configuration(v) for v in job["candidates"]]
        maximizer = _list_maximizer(self._space, listed, seed) if is_listed else None
        self._facade = Facade(
            scenario,
            lambda config, seed=0: 0.0,
            initial_design=Facade.get_initial_design(scenario, n_configs=0),
            model=self._make_forest(scenario),
            acquisition_maximizer=maximizer,
            config_selector=Facade.get_config_selector(scenario, retrain_after=1),
            logging_level=False,
            overwrite=True,
        )

    def _make_forest(self, scenario: Any) -> Any:
        """The facade's own forest but for the leaves and the core."""
        from smac.model.random_forest import RandomForest

        return RandomForest(
            self._space,
            log_y=True,
            n_trees=10,
            ratio_features=1.0,
            min_samples_split=2,
            min_samples_leaf=1,
            max_leaf_nodes=MOST_LEAVES,
            n_jobs=1,
            seed=scenario.seed,
        )

    def _make_space(self, parameters: list[Values], seed: int) -> Any:
        import ConfigSpace as cs

        space = cs.ConfigurationSpace(seed=seed)
        for p in parameters:
            if p["kind"] == "nominal":
                node = cs.CategoricalHyperparameter(
                    p["name"], p["choices"], weights=p["weights"], default_value=p["default"]
                )
            else:
                kinds = {"int": cs.UniformIntegerHyperparameter}
                kind = kinds.get(p["kind"], cs.UniformFloatHyperparameter)
                node = kind(
                    p["name"], p["low"], p["high"], default_value=p["default"], log=p["log"]
                )
            space.add(node)
            if p["parent"] is not None:
                space.add(cs.InCondition(space[p["name"]], space[p["parent"][0]], p["parent"][1]))
        return space

    def _configuration(self, values: Values) -> Any:
        from ConfigSpace import Configuration

        return Configuration(self._space, values=values)

    def ask(self) -> Values:
        return dict(self._facade.ask().config)

    def tell(self, values: Values, score: float) -> None:
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        info = TrialInfo(self._configuration(values), seed=0)
        self._facade.tell(info, TrialValue(cost=1.0 - score, time=1.0), save=False)


def _list_maximizer(space: Any, listed: list[Any], seed: int) -> Any:
    """SMAC3's acquisition maximizer over a list, with random ones of the list between."""
    from smac.acquisition.maximizer.abstract_acquisition_maximizer import (
        AbstractAcquisitionMaximizer,
    )

    class ListMaximizer(AbstractAcquisitionMaximizer):  # type: ignore[misc]
        def maximize(self, previous_configs, n_points=None, random_design=None):  # type: ignore[no-untyped-def]
            known = set(previous_configs)
            free = [config for config in listed if config not in known]
            is_random = random_design is not None and random_design.check(1)
            if random_design is not None:
                random_design.next_iteration()
            if is_random:
                return iter([free[i] for i in self._rng.permutation(len(free))])
            return iter([config for _, config in self._sort_by_acquisition_value(free)])

        def _maximize(self, previous_configs, n_points):  # type: ignore[no-untyped-def]
            raise NotImplementedError

    return ListMaximizer(space, seed=seed)


class Hebo:
    """HEBO with its defaults."""

    def __init__(self, job: Values, seed: int, *, is_listed: bool) -> None:
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        self._parameters = job["parameters"]
        space = DesignSpace().parse([self._parse(p) for p in self._parameters])
        self._optimizer = HEBO(space, rand_sample=job["n_initial"], scramble_seed=seed)

    def _parse(self, p: Values) -> Values:
        if p["kind"] == "nominal":
            return {"name": p["name"], "type": "cat", "categories": [str(c) for c in p["choices"]]}
        kinds = {("float", True): "pow", ("float", False): "num"}
        kind = kinds.get((p["kind"], p["log"]), "pow_int" if p["log"] else "int")
        base = {"base": 10} if kind.startswith("pow") else {}
        return {"name": p["name"], "type": kind, "lb": p["low"], "ub": p["high"], **base}

    def ask(self) -> Values:
        row = self._optimizer.suggest(n_suggestions=1).iloc[0].to_dict()
        for p in self._parameters:
            if p["kind"] == "nominal":
                row[p["name"]] = {str(c): c for c in p["choices"]}[row[p["name"]]]
        return active(self._parameters, row)

    def tell(self, values: Values, score: float) -> None:
        import pandas as pd

        full = {**{p["name"]: p["default"] for p in self._parameters}, **values}
        for p in self._parameters:
            if p["kind"] == "nominal":
                full[p["name"]] = str(full[p["name"]])
        self._optimizer.observe(pd.DataFrame([full]), np.array([[-score]]))


def make(job: Values, seed: int, *, is_listed: bool) -> Reference:
    kinds: dict[str, Callable[..., Reference]] = {"smac3": Smac3, "hebo": Hebo}
    return kinds.get(job["optimizer"], Optuna)(job, seed, is_listed=is_listed)


def replay(job: Values, seed: int, order: list[int]) -> Values:
    """As `replay.replay`."""
    parameters, candidates, scores = job["parameters"], job["candidates"], job["scores"]
    rows = np.array([encode(parameters, values) for values in candidates])
    reference = make(job, seed, is_listed=True)
    chosen: list[int] = []
    seconds: list[float] = []
    for k in range(min(job["n_trials"], len(candidates))):
        if k < job["n_initial"]:
            index = order[k]
        else:
            started = time.perf_counter()
            proposal = reference.ask()
            seconds.append(round(time.perf_counter() - started, 5))
            distances = np.square(rows - np.array(encode(parameters, proposal))).sum(axis=1)
            distances[chosen] = np.inf
            index = int(distances.argmin())
        chosen.append(index)
        reference.tell(candidates[index], scores[index])
    return {"seed": seed, "chosen": chosen, "seconds": seconds}


def time_asks(job: Values) -> Values:
    """As `replay.time_asks`."""
    rows = np.array([encode(job["parameters"], values) for values in job["candidates"]])
    reference = make(job, 0, is_listed=False)
    *known, last = job["observations"]
    for values, score in known:
        reference.tell(values, score)
    found: Values = {"seconds": [], "cpu_seconds": []}
    for _ in range(job["n_timed"]):
        started, cpu_started = time.perf_counter(), time.process_time()
        reference.tell(*last)
        values = reference.ask()
        found["seconds"].append(round(time.perf_counter() - started, 5))
        found["cpu_seconds"].append(round(time.process_time() - cpu_started, 5))
        distances = np.square(rows - np.array(encode(job["parameters"], values))).sum(axis=1)
        last = (values, job["scores"][int(distances.argmin())])
    return found


def main() -> None:
    if "--available" in sys.argv:
        print(json.dumps([n for n, needed in LIBRARIES.items() if all(map(find_spec, needed))]))
        return
    warnings.simplefilter("ignore")
    job = json.load(sys.stdin)
    if "observations" in job:
        print(json.dumps(time_asks(job)))
        return
    for seed, order in job["orders"].items():
        print(json.dumps(replay(job, int(seed), order)), flush=True)


if __name__ == "__main__":
    main()
