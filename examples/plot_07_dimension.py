"""
How many dimensions?
====================

More dimensions always fit the training answers about as well or better. What matters is how well the map predicts
answers that were not used in the fit, which cross-validation measures. Use only as many dimensions as significantly
improve these predictions.
"""

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=100, flipped=0.1, seed=4)

# %%
# Starting from one, the number of dimensions increases as long as one or two more predict held-out answers
# significantly better. (``closerthan dims answers.csv`` does the same on the command line, and ``closerthan fit
# answers.csv --dims auto`` also fits the map.)
choice = ct.choose_dims(data.train)
for n_dims, score in choice.scores.items():
    print(
        f"dimensions: {n_dims}, training error {score.training.mean():.3f}, held-out error {score.mean:.3f}"
    )
for sentence in choice.sentences:
    print("-", sentence)

# %%
# The answers were generated from points in three dimensions, and a tenth of them are reversed, so no map can have an
# error much below 0.1 here.
figure = ct.plotting.dims_figure(choice)
