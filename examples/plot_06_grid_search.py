"""
Loss and dimension by grid search
=================================

:class:`~closerthan.OrdinalEmbedding` is a scikit-learn estimator whose samples are answers, so ``GridSearchCV`` can
choose among losses and numbers of dimensions. :class:`~closerthan.AnswerKFold` keeps answers to the same question in
the same fold.
"""

from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV

import closerthan as ct

data = ct.datasets.synthetic(60, 3, n_train=9_000, n_test=5_000, flipped=0.1, seed=0)
search = GridSearchCV(
    ct.OrdinalEmbedding(n_objects=60, n_init=2, random_state=0),
    {"loss": list(ct.losses.LOSSES), "n_components": [1, 2, 3, 4, 5]},
    cv=ct.AnswerKFold(n_splits=3),
).fit(data.train.rows)
search.best_params_

# %%
figure = Figure(figsize=(7, 4), layout="constrained")
axes = figure.subplots()
results = search.cv_results_
for loss in ct.losses.LOSSES:
    rows = results["param_loss"] == loss
    axes.plot(
        results["param_n_components"][rows],
        results["mean_test_score"][rows],
        marker="o",
        label=loss,
    )
axes.set_xticks([1, 2, 3, 4, 5])
axes.set_xlabel("dimensions")
axes.set_ylabel("accuracy on held-out answers")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)

# %%
# A tenth of the answers are reversed at random, so even the true map agrees with only nine tenths of them. On answers
# without this noise:
print(f"accuracy of the best model: {search.score(data.test.rows):.3f}")
