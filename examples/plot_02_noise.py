"""
Noisy answers and early stopping
================================

People contradict each other and themselves. Here a fifth of 6,000 answers about 60 objects is reversed. The objects
have three dimensions, but we do not know that, and give the map ten.
"""

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=5_000, flipped=0.2, seed=1)

# %%
# Watch a fit on test answers, which are not reversed: the objective goes on falling, while the test error soon rises
# again. The map has room for the noise, and learns it. (The training error stays higher than the test error, as the map
# rightly disagrees with many of the answers that are reversed.)
watched = ct.embed(
    data.train,
    n_dims=10,
    loss="tste",
    seed=0,
    tolerance=None,
    epochs=60,
    validation=data.test,
)
figure = ct.plotting.convergence_figure(
    watched.history, against="epoch", title="Learning the noise"
)

# %%
# In earnest there are no such test answers. ``validation=0.1`` keeps a tenth of the answers out of the fit, and returns
# the map that was best on them. Knowing how many dimensions there are is better still (see the example on that).
for name, n_dims, options in (
    ("10 dimensions", 10, {}),
    ("10 dimensions, early stopping", 10, {"validation": 0.1}),
    ("3 dimensions", 3, {}),
    ("3 dimensions, early stopping", 3, {"validation": 0.1}),
):
    result = ct.embed(data.train, n_dims, loss="tste", seed=0, n_starts=4, **options)
    print(
        f"{name:30} test error {ct.triplet_error(data.test, result.embedding):.3f}, stopped by {result.stopped_by}"
    )

# %%
# More answers help more than either:
for n_train in (6_000, 24_000, 96_000):
    more = ct.datasets.synthetic(60, 3, n_train, 5_000, flipped=0.2, seed=1)
    error = ct.triplet_error(
        more.test, ct.embed(more.train, 3, loss="tste", seed=0, n_starts=4).embedding
    )
    print(f"{n_train:6,} answers: test error {error:.3f}")
