"""
New objects on a map
====================

A new object can be added to an existing map. Fifty answers about it are enough to place it; the other objects stay
where they are.
"""

import numpy as np

import closerthan as ct

cities = ct.datasets.eurodist()
answers = cities.comparisons()
rome = answers.names.index("Rome")
about_rome = (answers.rows == rome).any(axis=1)


def by_name(rows):
    """Return rows of names instead of numbers."""
    return [[answers.names[number] for number in row] for row in rows]


# %%
# Fit a map of all cities except Rome:
result = ct.embed(
    ct.Comparisons.from_triplets(by_name(answers.rows[~about_rome])), loss="ste", seed=0
)

# %%
# Place Rome, using fifty random answers about it:
rng = np.random.default_rng(0)
some = rng.choice(np.flatnonzero(about_rome), 50, replace=False)
placed = ct.place(by_name(answers.rows[some]), result)
print(placed)
print(
    "error on these answers:",
    placed.errors,
    "standard errors:",
    placed.standard_errors.round(2),
)

# %%
# How well does its place predict the other answers about Rome?
numbers = np.array([placed.all_names.index(name) for name in answers.names])
rest = np.setdiff1d(np.flatnonzero(about_rome), some)
print(
    f"error on the other {len(rest)} answers: {ct.triplet_error(numbers[answers.rows[rest]], placed.embedding):.3f}"
)

# %%
is_new = ["new" if name == "Rome" else "on the map" for name in placed.all_names]
figure = ct.plotting.map_figure(placed.embedding, placed.all_names, labels=is_new)
