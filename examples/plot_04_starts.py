"""
Several starts
==============

In two dimensions an object on the wrong side of the map can hardly get past the others. Starting several times from
other random places costs little; the best is kept.
"""

from matplotlib.figure import Figure

import closerthan as ct

data = ct.datasets.synthetic(50, 2, n_train=500, n_test=5_000, seed=0)
result = ct.embed(data.train, n_dims=2, loss="ste", seed=0, n_starts=20)
print(f"start {result.best_start + 1} of {len(result.starts)} won")

# %%
# How each of the starts ended:
figure = Figure(figsize=(7, 3.6), layout="constrained")
axes = figure.subplots()
ends = sorted((start.objective, start.train_error) for start in result.starts)
axes.bar(range(len(ends)), [error for _, error in ends], color="#4477aa")
axes.set_xticks(range(len(ends)), [])
axes.set_xlabel("starts, from the lowest objective to the highest")
axes.set_ylabel("training error")
axes.spines[["top", "right"]].set_visible(False)

# %%
# The start with the lowest objective is chosen, or with ``validation`` the one with the lowest held-out error. On new
# answers, over six such problems:
for n_starts in (1, 5, 20):
    errors = []
    for seed in range(6):
        data = ct.datasets.synthetic(50, 2, n_train=500, n_test=5_000, seed=seed)
        errors.append(
            ct.triplet_error(
                data.test,
                ct.embed(
                    data.train, 2, loss="ste", seed=0, n_starts=n_starts
                ).embedding,
            )
        )
    print(f"{n_starts:2} starts: test error {min(errors):.3f} to {max(errors):.3f}")
