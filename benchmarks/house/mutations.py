"""Whether the tests notice: breaks the project on purpose, one place at a time, and runs the tests that should say so.

    python benchmarks/house/mutations.py COMMIT [NAME ...]

Each mutation is applied to a checkout of the commit, which is removed in the end. One line for each: caught, MISSED
or GONE (what it breaks has other words now: find them), and the seconds of its tests. The exit code is 1 where one
is not caught.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"automl": "automl", "automl_flows": "flows", "automl_tasks": "tasks"}
CAUGHT, MISSED, GONE = "caught", "MISSED", "GONE  "
TESTS_FAILED = 1
"""What pytest ends with where tests ran and one failed; an error of ours ends it otherwise."""


@dataclass(frozen=True)
class Mutation:
    """One break.

    Parameters
    ----------
    name
        What is broken, in a few words.
    file
        From the root of the checkout.
    old, new
        Text that occurs once in the file, and what takes its place.
    tests
        Arguments of pytest, the quickest first.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str

    def apply(self, checkout: Path) -> bool:
        """Break the file of a checkout; False where the text is not there exactly once any more."""
        path = checkout / self.file
        text = path.read_text("utf-8") if path.exists() else ""
        if text.count(self.old) != 1:
            return False
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return True


MUTATIONS = (
    Mutation(
        "a metric's better end is the worse one",
        "automl/metrics/metric.py",
        "return self.bounds[self.is_maximized]",
        "return self.bounds[not self.is_maximized]",
        "tests/metrics/test_contract.py tests/metrics/test_index.py",
    ),
    Mutation(
        "a decision sees one result too few",
        "automl/search/turns.py",
        "if i > self._next - delay:",
        "if i >= self._next - delay:",
        "tests/search/test_turns.py::test_a_decision_sees_exactly_the_results_up_to_its_lookback",
    ),
    Mutation(
        "a replayed trial is not compared with the decision",
        "automl/search/turns.py",
        "if not is_same or trial.fidelity != turn.proposal.fidelity:",
        "if trial.fidelity != turn.proposal.fidelity:",
        "tests/search/test_turns.py::test_a_replay_with_other_settings_is_refused",
    ),
    Mutation(
        "members of an ensemble count alike, whatever their weights",
        "automl/inference/combining.py",
        "total = total + values * weight",
        "total = total + values / len(used) + 0.0 * weight",
        "tests/ensembles/test_combining.py",
    ),
    Mutation(
        "an ensemble replaces the champion without evidence",
        "automl/ensembles/evidence.py",
        "has_evidence = result.pvalue < alpha and not np.array_equal(ensemble, champion)",
        "has_evidence = difference > 0",
        "tests/ensembles/test_ensembles.py::test_the_champion_is_replaced_only_on_evidence",
    ),
    Mutation(
        "folds tear groups apart",
        "automl/data/splits.py",
        "folds = _allot_others(strata, groups, shares, kept, rng=rng)",
        "folds = _allot_others(strata, None, shares, kept, rng=rng)",
        "tests/data/test_splits.py::test_groups_are_never_split",
    ),
    Mutation(
        "a missing category is one that was never seen",
        "automl/inference/columns.py",
        "table = np.full(len(distinct) + 1, -1, dtype=np.intp)",
        "table = np.full(len(distinct) + 1, unseen, dtype=np.intp)",
        "tests/inference/test_schema.py",
    ),
    Mutation(
        "a column that equals the target is no leak",
        "automl/data/leaks.py",
        'return "equals" if same else "renames"',
        'return ""',
        "tests/data/test_bad_tables.py",
    ),
    Mutation(
        "the last record of a journal is lost",
        "automl/evaluation/journal.py",
        "[record for record in parsed if record is not None],",
        "[record for record in parsed[:-1] if record is not None],",
        "tests/evaluation/test_journal.py",
    ),
    Mutation(
        "a journal's checksums are not compared",
        "automl/evaluation/journal.py",
        'if checksum != b"%08x" % zlib.crc32(body):',
        'if len(checksum) != len(b"%08x" % zlib.crc32(body)):',
        "tests/evaluation/test_journal.py",
    ),
    Mutation(
        "the paired test has a degree of freedom too many",
        "automl/statistics/paired.py",
        "pvalue = max(float(_t_tail(statistic, n - 1, alternative)[0]), least)",
        "pvalue = max(float(_t_tail(statistic, n, alternative)[0]), least)",
        "tests/statistics/test_statistics.py::test_corrected_t_without_overlap_is_the_paired_t_test",
    ),
    Mutation(
        "the variance of overlapping folds is not corrected",
        "automl/statistics/paired.py",
        "error = deviation * np.sqrt(1.0 / n + test_train_ratio)",
        "error = deviation * np.sqrt(1.0 / n)",
        "tests/statistics/test_references.py::test_the_corrected_t_test_reproduces_the_example_of_scikit_learn",
    ),
    Mutation(
        "a trial may take three seconds more than it has",
        "automl/evaluation/watch.py",
        "if self.deadline is not None and now >= self.deadline:",
        "if self.deadline is not None and now >= self.deadline + 3.0:",
        "tests/evaluation/test_slots.py::test_a_saboteur_ends_with_the_right_status_and_costs_only_its_own_trial",
    ),
    Mutation(
        "a trial may take as much memory as it likes",
        "automl/evaluation/watch.py",
        "elif self.limit_kib is not None and self.sample() > self.limit_kib:",
        "elif self.limit_kib is not None and self.sample() > 100 * self.limit_kib:",
        "tests/evaluation/test_slots.py::test_a_saboteur_ends_with_the_right_status_and_costs_only_its_own_trial",
    ),
    Mutation(
        "the cache of folds does not tell shares of the rows apart",
        "automl/evaluation/fitting.py",
        "key = (data, tuple(sorted(choices.items())))",
        "key = (data.stage, data.repeat, data.fold, tuple(sorted(choices.items())))",
        "tests/evaluation/test_trial.py::test_shares_of_the_rows_are_cached_apart",
    ),
    Mutation(
        "a trial that is far behind runs to its end",
        "automl/evaluation/trial.py",
        'if reason := why_raced([r.score for r in results], payload["incumbent"], len(jobs)):',
        "if reason := why_raced([r.score for r in results], None, len(jobs)):",
        "tests/evaluation/test_trial.py::test_a_hopeless_trial_ends_early_and_keeps_nothing",
    ),
    Mutation(
        "promotion is inverted",
        "automl/stages/promotion.py",
        "promote = record.pvalue <= record.level",
        "promote = record.pvalue > record.level",
        "tests/retraining/test_promotion.py::test_the_better_model_takes_the_alias",
    ),
    Mutation(
        "a model that lost the comparison is registered as the challenger",
        "automl/tracking/publication.py",
        "if rule.is_compared and not rule.promote:",
        "if False:",
        "tests/tracking/test_model_registry.py::test_champion_moves_only_where_the_rule_says_so_and_rolls_back",
    ),
    Mutation(
        "a damaged record of a stage is taken for an empty one",
        "automl/record_files.py",
        "                stacklevel=2,\n            )\n            return None",
        "                stacklevel=2,\n            )\n            return {}",
        "tests/test_record_files.py",
    ),
    Mutation(
        "a record may lack fields",
        "automl/stage_record.py",
        "if entry.name not in data and _is_required(entry):",
        "if entry.name is None and _is_required(entry):",
        "tests/run/test_earlier_records.py",
    ),
    Mutation(
        "what a resumed run gave up before is forgotten",
        "automl/run/session.py",
        "        self._recall(content)\n        return record",
        "        return record",
        "tests/run/test_session.py::test_a_resumed_run_knows_that_an_earlier_stage_cannot_be_repeated",
    ),
    Mutation(
        "random streams do not depend on their purpose",
        "automl/randomness.py",
        "np.random.SeedSequence(root, spawn_key=(int(purpose), *keys)))",
        "np.random.SeedSequence(root, spawn_key=keys))",
        "tests/test_randomness.py tests/evaluation/test_trial.py tests/search/test_turns.py",
    ),
    Mutation(
        "candidates are dropped at half the level",
        "automl/selection/comparison_with_best.py",
        "return tuple(p >= given.alpha or i == given.best for i, p in enumerate(pvalues))",
        "return tuple(p >= given.alpha / 2 or i == given.best for i, p in enumerate(pvalues))",
        "tests/selection/test_levels.py tests/selection/test_multiplicity.py",
    ),
    Mutation(
        "a screening takes each comparison for the only one",
        "automl/selection/screening.py",
        "return alpha / max(n_trials * (n_trials - 1), 1)",
        "return alpha",
        "tests/selection/test_multiplicity.py::test_screening_drops_none_of_many_equal_trials tests/selection/test_multiplicity.py",
    ),
    Mutation(
        "the worst of each cluster is the candidate",
        "automl/selection/clusters.py",
        'np.argsort(-values, kind="stable")',
        'np.argsort(values, kind="stable")',
        "tests/selection/test_candidates.py",
    ),
    Mutation(
        "an honest score forgets groups",
        "automl/selection/honest.py",
        "chosen = counts if groups is None else counts[:, groups]",
        "chosen = counts if groups is None else rng.permuted(counts[:, groups], axis=1)",
        "tests/selection/test_honest.py::test_groups_are_drawn_whole",
    ),
    Mutation(
        "a file that was changed in place keeps its digest",
        "flows/services/drop_store.py",
        'if line.get("file") == _file(place, drop) and line["version"] == drop.version:',
        'if line.get("file") == _file(place, drop):',
        "tests/retraining/test_watching.py",
    ),
    Mutation(
        "a content that a run has is trained on again",
        "flows/retraining.py",
        "same = next((run for run in reversed(runs) if digest == table_digest(run)), None)",
        "same = next((run for run in reversed(runs) if digest is table_digest(run)), None)",
        "tests/retraining/test_retraining.py::test_known_content_changes_nothing_whatever_file_holds_it",
    ),
    Mutation(
        "bad data ends with the code of bad settings",
        "automl/errors.py",
        "    exit_code = 3",
        "    exit_code = 2",
        "tests/test_errors.py tests/cli/test_errors.py",
    ),
    Mutation(
        "an address shows its user and password",
        "automl/addresses.py",
        '_QUERY.sub("", _USER.sub("", source))',
        '_QUERY.sub("", source)',
        "tests/test_addresses.py",
    ),
    Mutation(
        "two merged components lose the variance between them",
        "automl/priors/gaussian_components.py",
        " + left * right * gaps**2",
        " + 0.0 * gaps",
        "tests/priors/test_gaussian_components.py",
    ),
    Mutation(
        "an encoding of a row holds its own target",
        "automl/preprocessing/encoding.py",
        "inside, rest = np.flatnonzero(part == fold), np.flatnonzero(part != fold)",
        "inside, rest = np.flatnonzero(part == fold), np.arange(n_rows)",
        "tests/preprocessing/test_encoding.py::test_no_rows_own_target_leaks_into_its_encoding",
    ),
    Mutation(
        "a threshold is learned from the rows that it is judged on",
        "automl/metrics/decisions.py",
        "others = self._of(np.flatnonzero((self.folds >= 0) & (self.folds != fold)))",
        "others = self._of(np.flatnonzero(self.folds >= 0))",
        "tests/metrics/test_decisions.py",
    ),
    Mutation(
        "what was not signed here is taken for our own",
        "automl/inference/signature.py",
        'return "own" if hmac.compare_digest(claimed, _code(content, key, kind).encode()) else "altered"',
        'return "own"',
        "tests/run/test_session.py::test_settings_or_a_plan_that_were_changed_are_refused",
    ),
    Mutation(
        "Parzen estimators take the worst trials for the good ones",
        "automl/optimizers/tpe.py",
        'np.argsort(-scores, kind="stable")[:n_good]',
        'np.argsort(scores, kind="stable")[:n_good]',
        "tests/optimizers/test_tpe.py::test_the_best_share_is_good_and_what_failed_never_is",
    ),
    Mutation(
        "the wider bound is the lower one",
        "automl/acquisition/improvement.py",
        "return np.asarray(mean) + width * np.asarray(std)",
        "return np.asarray(mean) - width * np.asarray(std)",
        "tests/acquisition/test_improvement.py::test_the_bound_is_linear tests/acquisition",
    ),
    Mutation(
        "a position on a logarithmic scale is lost",
        "automl/spaces/numerical.py",
        "position = (np.log(np.maximum(x, 0.0)) - low) / (high - low)",
        "position = (np.maximum(x, 0.0) - np.exp(low)) / (np.exp(high) - np.exp(low))",
        "tests/spaces/test_distributions.py",
    ),
    Mutation(
        "trials that were killed count as finished in a forecast",
        "automl/forecasts/runtime_model.py",
        "if not is_censored.any():",
        "if is_censored is not None:",
        "tests/forecasts/test_model.py::test_that_a_fit_was_killed_never_lowers_what_it_is_expected_to_take",
    ),
    Mutation(
        "a raced trial counts as the best of its family",
        "automl/bandits/rewards.py",
        "return own.worst",
        "return own.best",
        "tests/bandits/test_rewards.py",
    ),
    Mutation(
        "a run that was killed counts as running",
        "automl/run_state.py",
        "if is_driven and last.ended is None:",
        "if last.ended is None:",
        "tests/test_run_state.py",
    ),
    Mutation(
        "the experience of partial trials is that of whole ones",
        "automl/priors/general.py",
        "if trial.status is not TrialStatus.PARTIAL:",
        "if trial.status is not None:",
        "tests/priors/test_general.py",
    ),
    Mutation(
        "the search has the time that the stages after it need",
        "automl/run/ledger.py",
        "return self.total - later - self.elapsed",
        "return self.total - self.elapsed",
        "tests/run/test_ledger.py",
    ),
    Mutation(
        "a design takes a trial without score for one with",
        "automl/optimizers/hypercube.py",
        "if not trial.is_complete or trial.score is None:",
        "if trial.status is TrialStatus.RACED:",
        "tests/optimizers/test_optimizers_contract.py::test_it_survives_that_no_trial_is_complete",
    ),
    Mutation(
        "the final model is timed with all cores",
        "automl/stages/finishing.py",
        "with threadpool_limits(session.settings.threads):",
        "with threadpool_limits(None):",
        "tests/stages/test_finishing.py",
    ),
)


def main() -> int:
    """Try the mutations of these names, or all."""
    commit, *names = sys.argv[1:]
    chosen = [mutation for mutation in MUTATIONS if not names or mutation.name in names]
    n_caught = 0
    with checkout(commit) as folder:
        for mutation in chosen:
            started = time.monotonic()
            outcome = _outcome(mutation, folder)
            n_caught += outcome == CAUGHT
            print(f"{outcome}  {time.monotonic() - started:6.1f} s  {mutation.name}", flush=True)
    print(f"{n_caught} of {len(chosen)} caught")
    return int(n_caught < len(chosen))


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A commit in a folder of its own, with its packages beside it under their names."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "checkout"
        _git(ROOT, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            packages = Path(name) / "packages"
            packages.mkdir()
            for package, source in PACKAGES.items():
                (packages / package).symlink_to(folder / source)
            yield folder
        finally:
            _git(ROOT, "worktree", "remove", "--force", str(folder))


def _outcome(mutation: Mutation, folder: Path) -> str:
    """What the tests say of the broken checkout, which is whole again afterwards."""
    tests = [name for name in mutation.tests.split() if (folder / name.partition("::")[0]).exists()]
    if not tests or not mutation.apply(folder):
        return GONE
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder.parent / "packages")},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        _git(folder, "checkout", "--quiet", "--", mutation.file)
    if done.returncode not in (0, TESTS_FAILED):
        raise RuntimeError(
            f"{mutation.name}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}"
        )
    return CAUGHT if done.returncode == TESTS_FAILED else MISSED


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
