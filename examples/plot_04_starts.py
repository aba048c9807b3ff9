"""
Several starts
==============

A fit begins with objects at random places. Some starts can end in a worse map than others: in two dimensions an object
on the wrong side can hardly get past the rest. ``n_starts`` begins several times and keeps the best. How much does it help?
"""

from matplotlib.figure import Figure

import closerthan as ct

data = ct.datasets.synthetic(100, 2, n_train=3_000, n_test=5_000, seed=3)
plain = ct.solvers.Polyak(extra_dimensions=None)
fits = {
    "default": ct.embed(data.train, 2, loss="soe", n_starts=20, seed=0),
    "no extra dimensions": ct.embed(
        data.train, 2, loss="soe", solver=plain, n_starts=20, seed=0
    ),
}

# %%
# By default a random start has extra dimensions for a while, in which objects get past each other. Without them, some
# starts are stuck. Training error of each of the 20 starts, the best one first:
figure = Figure(figsize=(7, 3.4), layout="constrained")
axes = figure.subplots()
for (name, fit), mark in zip(fits.items(), "ox", strict=True):
    errors = sorted(start.train_error for start in fit.starts)
    axes.plot(range(1, 21), errors, mark, label=name, markersize=6, clip_on=False)
axes.set(
    xlabel="start", ylabel="training error", xticks=[1, 5, 10, 15, 20], ylim=(0, None)
)
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

# %%
# What counts is the error on new answers. It is that of the start with the lowest objective, or with ``validation`` of the
# one with the lowest held-out error:
for name, fit in fits.items():
    error = ct.triplet_error(data.test, fit.embedding)
    stuck = sum(start.train_error > 0.01 for start in fit.starts)
    print(f"{name}: {stuck} of 20 starts stuck, test error of the best {error:.3f}")

# %%
# So one start is usually enough, and with ``loss="auto"`` two are made. Ask for more when you use another solver, start
# from places of your own, or want to see whether different starts give the same map (:doc:`plot_09_two_maps`).
