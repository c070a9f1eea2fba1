"""Networks that differ in where they start: trained in blocks, each as one array program.

Blocks bound the memory of a step to what the processor's caches hold; what a member becomes does
not depend on the threads that train the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

from automl.records import FloatArray
from automl.surrogates.batches import Batch, Examples, batch_of, epoch, grouped
from automl.surrogates.network import Groups, forward
from automl.surrogates.network_parameters import Shape, start, views
from automl.surrogates.network_training import Block

PER_BLOCK = 20
"""Members that are trained side by side."""
GROUP = 16
"""Rows of a group."""
N_GROUPS = 32
"""Groups of a batch."""
CHUNK = 1024
"""Rows of one block of a prediction."""
_SEEDS = 2**63


@dataclass
class Ensemble:
    """Networks of one shape.

    Parameters
    ----------
    decay : at least 0
        Variance of the noise over that of the prior of each parameter.
    n_threads : at least 1
        Blocks that are trained at a time.
    """

    shape: Shape
    blocks: list[Block]
    decay: float
    n_threads: int = 1

    @classmethod
    def begin(
        cls,
        shape: Shape,
        n_members: int,
        *,
        decay: float,
        rng: np.random.Generator,
        n_threads: int = 1,
    ) -> Ensemble:
        """New networks; float32, since what is lost is far below the differences of members."""
        sizes = [min(PER_BLOCK, n_members - i) for i in range(0, n_members, PER_BLOCK)]
        blocks = [Block(shape, size, start(shape, size, rng).astype(np.float32)) for size in sizes]
        return cls(shape, blocks, decay, n_threads)

    def train(
        self, examples: Examples, *, n_steps: int, rate: float, rng: np.random.Generator
    ) -> None:
        """Learn from all rows, in batches of up to 512 of them, at a rate that falls to 0."""
        data, seed = _single(examples), int(rng.integers(_SEEDS))

        def batches() -> Iterator[Batch]:
            generator = np.random.default_rng(seed)
            while True:
                rows = epoch(data.task, size=GROUP, n_groups=N_GROUPS, rng=generator)
                yield from (batch_of(data, part) for part in rows)

        self._learn(batches, n_steps, rate, self.decay / len(data.y))

    def refine(
        self,
        examples: Examples,
        *,
        n_steps: int,
        rate: float,
        n_groups: int,
        rng: np.random.Generator,
    ) -> None:
        """Go on from where the networks are: every step sees all rows of the target.

        Parameters
        ----------
        n_groups : at least 0
            Groups of other data sets in each batch, so that what was learned of them is kept.
        """
        data, seed = _single(examples), int(rng.integers(_SEEDS))
        is_own = data.task == len(data.meta) - 1
        own, others = np.flatnonzero(is_own), np.flatnonzero(~is_own)

        def batches() -> Iterator[Batch]:
            generator = np.random.default_rng(seed)
            ours = grouped(np.zeros(len(own), dtype=int), GROUP, generator)
            ours = np.where(ours >= 0, own[ours], -1)
            if len(others) == 0 or n_groups == 0:
                while True:
                    yield batch_of(data, ours)
            while True:
                for rows in epoch(data.task[others], size=GROUP, n_groups=n_groups, rng=generator):
                    theirs = np.where(rows >= 0, others[rows], -1)
                    yield batch_of(data, np.concatenate([ours, theirs]))

        self._learn(batches, n_steps, rate, self.decay / len(data.y))

    def _learn(
        self, batches: Callable[[], Iterator[Batch]], n_steps: int, rate: float, decay: float
    ) -> None:
        """Train every block on the same batches."""
        rates = rate * 0.5 * (1.0 + np.cos(np.pi * np.arange(n_steps) / n_steps))

        def learn(block: Block) -> None:
            block.restart()
            block.learn(islice(batches(), n_steps), rates, decay)

        if self.n_threads == 1:
            for block in self.blocks:
                learn(block)
            return
        with ThreadPoolExecutor(self.n_threads) as threads:
            list(threads.map(learn, self.blocks))

    def predict(self, X: FloatArray, task: int, meta: FloatArray) -> FloatArray:
        """(m, M) predictions of every member for rows X (m, d) of one data set.

        Parameters
        ----------
        task : in [0, t)
        meta : (p,)
        """
        predictions = np.empty((len(X), sum(block.members for block in self.blocks)))
        done = 0
        for block in self.blocks:
            parts = views(block.theta.astype(np.float64), self.shape, block.members)
            columns = slice(done, done + block.members)
            for begin in range(0, len(X), CHUNK):
                rows = slice(begin, begin + CHUNK)
                groups = Groups(X[None, rows], np.array([task]), meta[None])
                predictions[rows, columns] = forward(parts, groups, self.shape).prediction
            done += block.members
        return predictions

    def adopt(self, task: int, rng: np.random.Generator) -> None:
        """Begin a data set, in each member, as another one drawn at random.

        Members then disagree about a data set of which nothing is known as much as the others
        differ.

        Parameters
        ----------
        task : in [1, t)
            The last of the data sets; the others are those before it.
        """
        for block in self.blocks:
            drawn = np.repeat(rng.integers(task, size=block.members), self.shape.units)
            parts = views(block.theta, self.shape, block.members)
            columns = np.arange(len(drawn))
            parts["w_task"][task] = parts["w_task"][drawn, columns]
            parts["v_task"][:, task] = parts["v_task"][:, drawn, columns]

    def copy(self) -> Ensemble:
        """Networks of the same parameters."""
        blocks = [Block(self.shape, block.members, block.theta.copy()) for block in self.blocks]
        return Ensemble(self.shape, blocks, self.decay, self.n_threads)


def _single(examples: Examples) -> Examples:
    """The same in single precision."""
    single = np.float32
    return Examples(
        examples.X.astype(single),
        examples.y.astype(single),
        examples.task,
        examples.meta.astype(single),
    )
