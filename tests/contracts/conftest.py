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
def pytest_collection_modifyitems(items):
    """Each kernel is compiled for each loss and each kind of rows, a second every time; a penalty is an argument.

    The quick tests run all losses on triplets that count the same, and one loss on quadruplets and with weights, since
    these have nothing to do with the loss; the slow ones run the rest.
    """
    for item in items:
        if item.path.parent == Path(__file__).parent and hasattr(item, "callspec"):
            params = item.callspec.params
            loss = params["names"][0] if "names" in params else params.get("loss", "ste")
            of_quadruplets = params.get("kind") == "quadruplets" or "quadruplet" in item.originalname
            if (of_quadruplets or params.get("answers") == "weighted") and loss.split()[0] != "ste":
                item.add_marker(pytest.mark.slow)
