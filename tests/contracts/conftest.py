"""Losses and answers that the contracts of kernels are tested with."""

from pathlib import Path

import pytest
from conftest import random_comparisons

from closerthan.losses import LOSSES, Penalized

WITH_PENALTY = "with a penalty"


@pytest.fixture(params=[*LOSSES, *(f"{name} {WITH_PENALTY}" for name in LOSSES)])
def loss(request):
    name = request.param.removesuffix(WITH_PENALTY).strip()
    loss = LOSSES[name]().in_dims(3)
    return Penalized(loss, 0.03) if request.param.endswith(WITH_PENALTY) else loss


@pytest.fixture(params=["equal", "weighted"])
def answers(request, kind, rng):
    return random_comparisons(kind, rng, weighted=request.param == "weighted")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out combinations that test no new code, since a kernel is compiled for each loss and each kind of rows.

    A loss is a pair of scalar functions, and neither the rows nor the weights are visible to it. So all losses run on
    triplets of equal weight, but only two on quadruplets and with weights: ste, and in the slow tests soe, whose slopes
    have no bound.
    """
    left_out = []
    for item in items:
        if item.path.parent == Path(__file__).parent and hasattr(item, "callspec"):
            params = item.callspec.params
            loss = (params["names"][0] if "names" in params else params.get("loss", "ste")).split()[0]
            of_quadruplets = params.get("kind") == "quadruplets" or "quadruplet" in item.originalname
            if (of_quadruplets or params.get("answers") == "weighted") and loss != "ste":
                item.add_marker(pytest.mark.slow)
                if loss != "soe":
                    left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    left_out = set(left_out)
    items[:] = [item for item in items if item not in left_out]
