"""
How many dimensions?
====================

More dimensions always fit the given answers better. What counts are answers that the fit has not seen: cross-validation
leaves out a part of them in turn. Of the numbers of dimensions that are about as good as the best, take the smallest.
"""

import numpy as np

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=100, flipped=0.1, seed=4)
answers = data.train

# %%
# Five parts, each left out once. (``closerthan dims answers.csv`` does the same from the command line.)
parts = np.random.default_rng(0).integers(5, size=len(answers))
dims = [1, 2, 3, 4, 5, 6]
errors = np.array(
    [
        [
            ct.triplet_error(
                answers.take(parts == part),
                ct.embed(
                    answers.take(parts != part), n_dims, seed=0, n_starts=4
                ).embedding,
            )
            for part in range(5)
        ]
        for n_dims in dims
    ]
)

# %%
figure = ct.plotting.dims_figure(
    dims, errors.mean(axis=1), errors.std(axis=1, ddof=1) / np.sqrt(5)
)
