"""
Which layer of a model agrees with people?
==========================================

Features of objects can be scored by people's answers, and a model can answer the same questions as people.
"""

import numpy as np

import closerthan as ct

rng = np.random.default_rng(0)
minds = rng.normal(size=(40, 3))  # what people perceive
people = ct.answers_from(
    minds, 4000, similarity="euclidean", question="odd-one-out", temperature=0.7
)
people

# %%
# A simulated network: early layers mix what people perceive with much else.
layers = {
    f"layer {number}": np.hstack([minds, noise * rng.normal(size=(40, 12))])
    for number, noise in enumerate((2.0, 1.0, 0.5, 0.1), start=1)
}
scores = ct.score_features(layers, people, similarity="euclidean")
scores

# %%
scores.plot(title="Accuracy of whole answers")

# %%
# The network's answers to the questions that people answered, as a map:
answers = ct.answers_from(layers["layer 3"], people, similarity="euclidean")
ct.embed(answers, n_dims=2, loss="ste", seed=0).plot()
