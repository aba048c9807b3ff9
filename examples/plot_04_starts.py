"""
Several starts
==============

A fit starts with the objects at random places, and some starts may lead to a worse map than others: in two dimensions,
an object on the wrong side can hardly get past the rest. With ``n_starts``, several starts are tried and the best map is
kept. How much does that help?
"""

from matplotlib.figure import Figure

import closerthan as ct

data = ct.datasets.synthetic(100, 2, n_train=3_000, n_test=5_000, seed=3)
plain = ct.solvers.Polyak(extra_dimensions=None)
fits = {
    "default": ct.embed(data.train, 2, loss="soe", penalty=0, n_starts=20, seed=0),
    "no extra dimensions": ct.embed(
        data.train, 2, loss="soe", penalty=0, solver=plain, n_starts=20, seed=0
    ),
}

# %%
# By default, a random start temporarily has extra dimensions, in which objects can move past each other. Without them,
# some starts get stuck. (If the penalty were to be chosen, only the best start would be run to its end; hence
# ``penalty=0``.) The training error of each of the 20 starts, the best first:
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
# The error on new answers is what matters. The map that is returned comes from the start with the lowest objective or,
# with ``validation``, from the one with the lowest held-out error:
for name, fit in fits.items():
    error = ct.triplet_error(data.test, fit.embedding)
    stuck = sum(start.train_error > 0.01 for start in fit.starts)
    print(f"{name}: {stuck} of 20 starts stuck, test error of the best {error:.3f}")

# %%
# One start is therefore usually enough. By default, there are more where answers are few. Use more if you choose another
# solver or want to see whether different starts give the same map (:doc:`plot_09_two_maps`).
