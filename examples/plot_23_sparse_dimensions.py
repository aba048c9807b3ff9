"""
Dimensions that people can name
===============================

The coordinates of a map can be rotated, so its axes have no meaning. Sparse, non-negative dimensions (SPoSE) have one: each
is about a few objects, and a look at those with the largest weights suggests its name.
"""

import numpy as np

import closerthan as ct

# %%
# 30 objects with five properties. Some objects have two: the airplane is a vehicle that flies.
properties = {
    "fruit": "apple banana cherry grape lemon orange strawberry tomato",
    "animal": "bee butterfly cow dog duck eagle horse owl",
    "vehicle": "airplane bicycle bus helicopter rocket ship train truck",
    "flies": "bee butterfly duck eagle owl airplane helicopter rocket",
    "clothes": "boot coat glove hat scarf sock",
}
names = sorted({name for group in properties.values() for name in group.split()})
truth = np.array(
    [[1.8 * (name in group.split()) for group in properties.values()] for name in names]
)

# %%
# Which of three objects is the odd one out? The two others are the most similar pair. 4,000 simulated answers:
answers = ct.answers_from(
    truth,
    4000,
    similarity="dot",
    question="odd-one-out",
    temperature=1.0,
    names=names,
)
dimensions = ct.sparse_dimensions(answers, 10, n_refits=4)
dimensions

# %%
# Each dimension comes with the number of refits to resampled answers in which it was found again.
ct.plotting.dimensions_figure(dimensions)

# %%
# The profile of an object, and how the dimensions correlate with the properties behind the answers:
airplane = ct.plotting.profile_figure(dimensions, names.index("airplane"))
partners, correlations = ct.match_dimensions(truth, dimensions.weights)
for name, partner, correlation in zip(properties, partners, correlations, strict=True):
    print(f"{name:8} is dimension {partner + 1}: r = {correlation:.2f}")

# %%
# Accuracy on answers that were held out, beside that of guessing:
print(dimensions.accuracy)
