"""closerthan's own fits, under the same protocol as the peers; the time to evaluate the error is not counted."""

import time
import warnings

from protocol import error, serve

import closerthan as ct

warm = set()


def fit(request, data, measured):
    warnings.simplefilter("ignore")
    n_dims, test = int(data["n_dims"]), data["test"]
    train = ct.Comparisons.of(data["train"], n_objects=int(data["n_objects"]))
    options = {name: request[name] for name in ("loss", "solver", "epochs", "n_threads") if name in request}
    if request["loss"] != "auto":
        options["penalty"] = 0  # the same objective as that of the peer
    small = train.take(slice(5_000))
    first = time.perf_counter()
    if (request["data"], request["loss"], request.get("solver")) not in warm:
        warm.add((request["data"], request["loss"], request.get("solver")))
        # The small part compiles the kernels for small batches, one epoch of the whole the others.
        ct.embed(small, n_dims, **options | {"epochs": 1})
        if request["loss"] != "auto":
            ct.embed(train, n_dims, **options | {"epochs": 1})
    warming = time.perf_counter() - first

    errors, reached, looking = [], [], [0.0]

    def look(_, embedding):
        begin = time.perf_counter()
        reached.append(begin - looking[0])
        errors.append(error(test, embedding))
        looking[0] += time.perf_counter() - begin

    if request["loss"] == "auto":
        with measured:
            result = ct.embed(train, n_dims, seed=request["seed"], **options)
        return {"error": error(test, result.embedding), "warming": warming, "chosen": result.loss_name}
    with measured:
        begin = time.perf_counter()
        result = ct.embed(
            train, n_dims, seed=request["seed"], callback=look, time_limit=request["time_limit"], **options
        )
    measured.seconds -= looking[0]
    return {
        "error": error(test, result.embedding),
        "warming": warming,
        # The same clock as for the peers, from the call on: records and stopping rules count, evaluations do not.
        "setup": reached[0] - begin,
        "curve_seconds": [round(seconds - reached[0], 6) for seconds in reached],
        "curve_error": errors,
        "stopped_by": result.stopped_by,
    }


serve(fit)
