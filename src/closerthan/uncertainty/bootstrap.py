"""The bootstrap: resampled answers, by one of two schemes.

"bayesian"
    Each unit (person, block or answer) gets a random weight from the exponential distribution (Rubin 1981). No unit is
    dropped, so no object loses all its answers.
"multinomial"
    Units are drawn with replacement, as many as there are (Efron 1979). Fits without weights are faster, and objects
    with many answers do not lose all of them.

References
----------
B. Efron, Bootstrap methods: another look at the jackknife, The Annals of Statistics 1979.
D. B. Rubin, The Bayesian bootstrap, The Annals of Statistics 1981.
"""

import numpy as np

from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons

__all__ = ["SCHEMES", "bootstrap", "bootstrap_scheme"]

SCHEMES = ("bayesian", "multinomial")
# Answers per coordinate above which answers are drawn with replacement: fits then take three quarters of the time. Maps
# spread 3 % more than with exponential weights; with only 15 answers per coordinate, they would spread 20 % more.
MANY = 50


def bootstrap_scheme(by: str, n_units: int, n_coordinates: int) -> str:
    """Return the scheme for replicates of a map: "multinomial" for many answers, otherwise "bayesian".

    Examples
    --------
    >>> bootstrap_scheme("answers", 100, 20), bootstrap_scheme("answers", 100_000, 20)
    ('bayesian', 'multinomial')
    """
    return "multinomial" if by == "answers" and n_units >= MANY * n_coordinates else "bayesian"


def bootstrap(
    answers: Comparisons, rng: np.random.Generator, *, by: str = "answers", scheme: str = "bayesian"
) -> Comparisons:
    """Return resampled answers.

    Parameters
    ----------
    answers
        The answers; their weights, if they have any, are multiplied by the random ones.
    rng
        Source of randomness.
    by
        The unit that is resampled: "answers", "blocks" or "people".
    scheme
        One of ``SCHEMES``.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> len(bootstrap(answers, np.random.default_rng(0), scheme="multinomial"))
    3
    >>> bool((bootstrap(answers, np.random.default_rng(0)).weights > 0).all())
    True
    """
    unit = {"people": answers.people, "blocks": answers.blocks, "answers": answers.answers}[by]
    n_units = len(answers) if unit is None else int(unit.max()) + 1
    if scheme == "multinomial":
        counts = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
        return answers.take(np.repeat(np.arange(len(answers)), counts if unit is None else counts[unit]))
    if scheme not in SCHEMES:
        raise ParameterError("scheme", scheme, f"it can be {', '.join(SCHEMES)}")
    weights = rng.exponential(size=n_units)
    return answers.weighted(weights if unit is None else weights[unit])
