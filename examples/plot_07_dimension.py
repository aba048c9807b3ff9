"""
How many dimensions?
====================

More dimensions fit the given answers better, or hardly worse. What counts are answers that the fit has not seen: cross-validation
leaves out a part of them in turn. Of the numbers of dimensions that are about as good as the best, take the smallest.
"""

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=100, flipped=0.1, seed=4)

# %%
# Five parts, each left out once. (``closerthan dims answers.csv`` does the same from the command line.)
dims = [1, 2, 3, 4, 5, 6]
scores = [ct.cross_validate(data.train, n_dims, n_starts=4) for n_dims in dims]
for n_dims, score in zip(dims, scores, strict=True):
    print(
        f"{n_dims} dimensions: training {score.training.mean():.3f}, "
        f"held out {score.mean:.3f} ± {score.standard_error:.3f}"
    )

# %%
# The answers were made from points in three dimensions, and a tenth of them is reversed: no map can do better than an
# error of about 0.1 here.
figure = ct.plotting.dims_figure(
    dims,
    [score.mean for score in scores],
    [score.standard_error for score in scores],
)
