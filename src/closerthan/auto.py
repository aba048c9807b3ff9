"""loss="auto": which loss suits these answers? A race between all of them, judged on held-out answers.

No loss wins everywhere, and the answers themselves can tell. In each round of the race, every loss that is still in it
is fitted to a part of the answers and judged on others that it did not see; a loss that is clearly behind drops out.
The rounds use different parts, so that luck with one of them does not decide.
"""

import functools
import threading
from collections.abc import Callable

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.losses import LOSSES
from closerthan.objective import Array
from closerthan.parallel import run_together
from closerthan.result import Candidate

ROUNDS = 4
EPOCHS = 20  # of each fit in the race: enough to tell losses apart
HELD_OUT = 0.1
MOST_HELD_OUT = 20_000  # answers: more would not make the judgement better
CLEARLY = 2.0  # standard errors behind the best


# fit(train, held_out, loss, seed, cancelled) -> held-out error after each epoch
Fit = Callable[[Comparisons, Comparisons, str, int, threading.Event], Array]


def race(
    answers: Comparisons, n_dims: int, fit: Fit, rng: np.random.Generator, n_threads: int
) -> tuple[Candidate, ...]:
    """All losses, the best one first."""
    curves: dict[str, list[Array]] = {loss: [] for loss in LOSSES}
    standing = list(LOSSES)
    judged = 0
    for _ in range(ROUNDS):
        train, held_out = _drawn(answers, n_dims, rng)
        seed = int(rng.integers(2**31))
        cancelled = threading.Event()
        jobs = [functools.partial(fit, train, held_out, loss, seed, cancelled) for loss in standing]
        ended, interrupted = run_together(jobs, n_threads, cancelled)
        for loss, curve in zip(standing, ended, strict=True):
            if curve is not None:
                curves[loss].append(curve)
        if interrupted:
            raise KeyboardInterrupt
        judged += len(held_out)
        errors = {loss: _summary(loss, curves[loss], judged).held_out_error for loss in standing}
        best = min(errors.values())
        bar = best + CLEARLY * np.sqrt(best * (1 - best) / judged)
        standing = [loss for loss in standing if errors[loss] <= bar]
        if len(standing) == 1:
            break
    ranked = [_summary(loss, curves[loss], judged) for loss in LOSSES]
    # Those that dropped out were judged on fewer answers; they stay behind those that did not.
    return tuple(sorted(ranked, key=lambda candidate: (-candidate.rounds, candidate.held_out_error)))


def _drawn(answers: Comparisons, n_dims: int, rng: np.random.Generator) -> tuple[Comparisons, Comparisons]:
    """Answers to fit and answers to judge by: as many as it takes to tell losses apart, not all of a large file."""
    n_held_out = max(1, min(round(HELD_OUT * len(answers)), MOST_HELD_OUT))
    n_train = min(len(answers) - n_held_out, max(20_000, 20 * answers.n_objects * n_dims))
    if n_train < 1:
        raise ValueError(f'loss="auto" needs at least 2 comparisons to hold some out; there are {len(answers)}')
    drawn = rng.choice(len(answers), n_train + n_held_out, replace=False)
    return answers.take(np.sort(drawn[n_held_out:])), answers.take(np.sort(drawn[:n_held_out]))


def _summary(loss: str, curves: list[Array], judged: int) -> Candidate:
    length = max(len(curve) for curve in curves)
    # A fit that stopped early stays where it stopped.
    padded = np.array([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])
    mean = padded.mean(axis=0)
    best = 1 + int(mean[1:].argmin()) if length > 1 else 0
    error = float(mean[best])
    overfits = mean[-1] > error + np.sqrt(error * (1 - error) / judged)
    return Candidate(loss, error, best, len(curves), bool(overfits))
