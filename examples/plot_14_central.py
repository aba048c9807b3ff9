"""
The medoid, outliers and labels, without a map
==============================================

Some questions need no map: which object is the most central, which are far from all others, and whether answers know a
label that objects have.
"""

import numpy as np
from sklearn.model_selection import cross_val_score

import closerthan as ct

rng = np.random.default_rng(0)
label = np.repeat(["cat", "dog", "owl"], 15)
centres = {"cat": (0, 0), "dog": (4, 0), "owl": (2, 3)}
points = np.array([centres[one] for one in label]) + rng.normal(size=(45, 2))
points[7] = (14, 9)
answers = ct.datasets.simulated(points, 10_000, noise="distance", seed=0)

# %%
# How often is each object the nearer one of two, how often the farther one? In the middle the first is more frequent.
found = ct.centrality(answers)
print(found)
print("outliers:", found.outliers)

# %%
# Its true place is drawn as a cross, for we made these objects up:
figure = ct.plotting.map_figure(points, labels=found.scores, title="nearness")
_ = figure.axes[0].plot(*points[found.medoid], "x", markersize=14, color="black")

# %%
# Do the answers know the labels? A comparison tells if just one of the two objects has the anchor's label.
print(ct.label_scores(answers, label))

# %%
# A support vector machine on the triplet kernel names objects that nobody labelled; scikit-learn sees their numbers.
model = ct.ComparisonClassifier(answers)
print(cross_val_score(model, np.arange(45), label, cv=5).mean().round(2))
