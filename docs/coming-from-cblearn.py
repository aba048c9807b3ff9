import numpy as np
from cblearn import datasets
from cblearn.embedding import STE

rng = np.random.RandomState(0)
points = rng.normal(size=(30, 2))
train, test = (
    datasets.make_random_triplets(
        points,
        result_format="list-order",
        size=size,
        random_state=rng,
    )
    for size in (2_000, 1_000)
)

model = STE(
    n_components=2,
    random_state=0,
)
model.fit(train)
print(model.embedding_.shape)
print(model.score(test))
