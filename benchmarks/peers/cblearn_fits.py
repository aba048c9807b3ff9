"""cblearn's estimators with their defaults; runs in the cblearn environment."""

import warnings

import cblearn.embedding
from protocol import error, serve


def fit(request, data, measured):
    estimator = getattr(cblearn.embedding, request["estimator"])(
        n_components=int(data["n_dims"]), random_state=request["seed"], **request.get("options", {})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with measured:
            estimator.fit(data["train"], n_objects=int(data["n_objects"]))
    return {"error": error(data["test"], estimator.embedding_)}


serve(fit)
