"""
How many dimensions?
====================

More dimensions fit the given answers better, or hardly worse. What counts is how well answers are predicted that the fit has
not seen: cross-validation leaves out a part of them in turn. Take as many dimensions as predict significantly better.
"""

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=100, flipped=0.1, seed=4)

# %%
# Starting at one, the number of dimensions goes up as long as one or two more predict held-out answers significantly better.
# (``closerthan dims answers.csv`` does the same from the command line, and ``closerthan fit answers.csv --dims auto``
# fits the map right away.)
choice = ct.choose_dims(data.train)
for n_dims, score in choice.scores.items():
    print(
        f"dimensions: {n_dims}, training error {score.training.mean():.3f}, held-out error {score.mean:.3f}"
    )
for sentence in choice.sentences:
    print("-", sentence)

# %%
# The answers were made from points in three dimensions, and a tenth of them is reversed: no map can do better than an
# error of about 0.1 here.
figure = ct.plotting.dims_figure(choice)
