import numpy as np
from cblearn import datasets
from cblearn.embedding import STE

points = np.random.RandomState(0).normal(size=(30, 2))
train = datasets.make_random_triplets(points, result_format="list-order", size=2_000, random_state=0)
test = datasets.make_random_triplets(points, result_format="list-order", size=1_000, random_state=1)

model = STE(n_components=2, random_state=0)
model.fit(train)
print(model.embedding_.shape)
print(model.score(test))
