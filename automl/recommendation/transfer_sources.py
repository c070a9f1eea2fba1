"""Experience as the arrays that surrogates across data sets learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from automl.experience.data_set import DataSetFacts, Experience
from automl.recommendation.meta_learner import (
    common_scores,
    encoding_facts,
    meta_feature_names,
    meta_matrix,
)
from automl.recommendation.source_fits import kept_fit
from automl.records import Configuration, FloatArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.earlier_data import Sources

_Scored = tuple[Experience, list[tuple[Configuration, float]]]


def sources_of(
    experiences: Sequence[Experience], encoder: ConfigurationEncoder, data: DataSetFacts
) -> Sources:
    """Complete trials of the encoder's families on other data sets.

    What the package has learned from them is with them where there is anything
    (`automl.recommendation.source_fits`).

    Parameters
    ----------
    experiences
        Entries of one kind of target, without what cannot be used (`automl.experience.cleaning`).
    encoder
        Fitted.
    data
        The data set that is searched for.
    """
    used = _scored(experiences, encoder)
    sources = _joined(used, encoder, data)
    if not used:
        return sources
    return replace(sources, fit=kept_fit([one for one, _ in used], sources, encoder))


def unlearned_sources_of(
    experiences: Sequence[Experience], encoder: ConfigurationEncoder, data: DataSetFacts
) -> Sources:
    """As `sources_of`, without what the package has learned from them.

    Scores are standardized per data set over these trials (S15, section 4.1), those far below the
    rest raised. Each entry counts as a data set of its own, also two runs on one table.
    """
    return _joined(_scored(experiences, encoder), encoder, data)


def used_of(experiences: Sequence[Experience], encoder: ConfigurationEncoder) -> list[Experience]:
    """Those with complete trials of the encoder's families, in their order."""
    return [one for one, _ in _scored(experiences, encoder)]


def _scored(experiences: Sequence[Experience], encoder: ConfigurationEncoder) -> list[_Scored]:
    """Entries with complete trials of the encoder's families, and these with their scores."""
    families = frozenset(space.family for space in encoder.spaces)
    scored = [(one, one.scored(families)) for one in experiences]
    return [(one, trials) for one, trials in scored if trials]


def _joined(used: Sequence[_Scored], encoder: ConfigurationEncoder, data: DataSetFacts) -> Sources:
    if not used:
        return Sources.none(len(encoder.feature_names))
    X = [
        encoder.transform([c for c, _ in trials], encoding_facts(one.data)) for one, trials in used
    ]
    task = np.repeat(np.arange(len(used)), [len(trials) for _, trials in used])
    scores = np.array([score for _, trials in used for _, score in trials])
    meta, target_meta = _scaled([one.data for one, _ in used], data)
    return Sources(
        np.concatenate(X),
        common_scores(scores, task),
        task,
        meta,
        target_meta,
        configurations=[c for _, trials in used for c, _ in trials],
    )


def _scaled(others: Sequence[DataSetFacts], data: DataSetFacts) -> tuple[FloatArray, FloatArray]:
    """(t, p) and (p,) meta-features, scaled to [0, 1] over the others; gaps are their medians.

    Features that are equal on all others, or unknown on all of them, say nothing and are left out.
    The target's stay within a range of the others' on either side, however unlike them it is.
    """
    names = meta_feature_names(others)
    meta = meta_matrix([one.meta_features for one in others], names)
    target = meta_matrix([data.meta_features], names)[0]
    medians = np.nanmedian(meta, axis=0) if len(names) else np.zeros(0)
    meta = np.where(np.isfinite(meta), meta, medians)
    target = np.where(np.isfinite(target), target, medians)
    low, high = meta.min(axis=0), meta.max(axis=0)
    varies = high > low
    span = (high - low)[varies]
    scaled = (meta[:, varies] - low[varies]) / span
    return scaled, np.clip((target[varies] - low[varies]) / span, -1.0, 2.0)
