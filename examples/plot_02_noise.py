"""
Noisy answers and early stopping
================================

People contradict each other and themselves. Here, a fifth of 6,000 answers about 60 objects are reversed. The objects
have three dimensions, but we pretend not to know that and fit a map with ten.
"""

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=6_000, n_test=5_000, flipped=0.2, seed=1)

# %%
# Monitor the fit on test answers, none of which is reversed: the objective keeps falling, while the test error soon
# rises again. With ten dimensions, the map also fits the noise. (The training error stays above the test error
# because the map rightly disagrees with many of the reversed answers.)
monitored = ct.embed(
    data.train,
    n_dims=10,
    loss="tste",
    penalty=0,
    seed=0,
    tolerance=None,
    epochs=60,
    validation=data.test,
)
figure = ct.plotting.convergence_figure(
    monitored.history, against="epoch", title="Overfitting"
)

# %%
# Real data come without noise-free test answers. ``validation=0.1`` holds out a tenth of the answers and returns the
# map that predicted them best. By default, the strength of a penalty is chosen instead, also on held-out answers, which
# helps more. So does the right number of dimensions (:doc:`plot_07_dimension`).
for name, n_dims, options in (
    ("10 dimensions, no penalty", 10, {"penalty": 0}),
    ("10 dimensions, early stopping", 10, {"penalty": 0, "validation": 0.1}),
    ("10 dimensions", 10, {}),
    ("3 dimensions, no penalty", 3, {"penalty": 0}),
    ("3 dimensions, early stopping", 3, {"penalty": 0, "validation": 0.1}),
    ("3 dimensions", 3, {}),
):
    result = ct.embed(data.train, n_dims, loss="tste", seed=0, n_starts=4, **options)
    print(
        f"{name:30} test error {ct.triplet_error(data.test, result.embedding):.3f}, stopped by {result.stopped_by}"
    )

# %%
# More answers help more than either of these:
for n_train in (6_000, 24_000, 96_000):
    more = ct.datasets.synthetic(60, 3, n_train, 5_000, flipped=0.2, seed=1)
    error = ct.triplet_error(
        more.test, ct.embed(more.train, 3, loss="tste", seed=0, n_starts=4).embedding
    )
    print(f"{n_train:6,} answers: test error {error:.3f}")
