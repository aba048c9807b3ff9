"""
Align a model with people
=========================

A network knows more about objects than people care about. A linear map of its features, found from people's answers,
predicts new answers better, and gives positions to objects that nobody was asked about.
"""

import numpy as np

import closerthan as ct

rng = np.random.default_rng(0)
features = rng.normal(size=(60, 12))  # of a simulated network
minds = features[:, :3] * [3.0, 2.0, 1.0]  # people look at three of the twelve
people = ct.answers_from(
    minds[:50], 3000, similarity="euclidean", question="odd-one-out", temperature=2.0
)
aligned = ct.align(features, people, similarity="euclidean", n_folds=3)
aligned

# %%
# Accuracy of whole answers that the map was not fitted to: new answers about the same objects, and answers about objects
# that no training answer mentions.
ct.AlignedScores({"network": aligned}).plot()

# %%
# The verdict about new objects in words:
print(aligned.new_objects.verdict)

# %%
# Nobody was asked about the last ten objects. Their positions follow from their features:
new = aligned.transform(features[50:])
new.shape

# %%
# Do they lie where people would put them? Answers about them, which the map never saw, say so:
about_all = ct.answers_from(
    minds, 3000, similarity="euclidean", question="odd-one-out", temperature=2.0, seed=1
)
about_new = about_all.take((about_all.rows >= 50).any(axis=1))
print("unchanged features:", ct.answer_accuracy(about_new, features))
print("aligned:             ", ct.answer_accuracy(about_new, aligned.embedding))
