"""
The medoid, outliers and labels, without a map
==============================================

Some questions can be answered without a map: which object is the most central, which objects are far from all others,
and whether the answers reflect a label of the objects.
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
# How often is each object the nearer of the two, and how often the farther one? Central objects are the nearer one more
# often.
central = ct.centrality(answers)
print(central)
print("outliers:", central.outliers)

# %%
# The objects are simulated, so we can draw their true places. A cross marks the medoid:
figure = ct.plotting.map_figure(points, labels=central.scores, title="nearness")
_ = figure.axes[0].plot(*points[central.medoid], "x", markersize=14, color="black")

# %%
# Do the answers reflect the labels? A comparison is informative if exactly one of the two objects has the anchor's
# label.
print(ct.label_scores(answers, label))

# %%
# A support vector machine with the triplet kernel predicts the labels of unlabelled objects; the samples that
# scikit-learn sees are the numbers of the objects.
model = ct.ComparisonClassifier(answers)
print(cross_val_score(model, np.arange(45), label, cv=5).mean().round(2))
