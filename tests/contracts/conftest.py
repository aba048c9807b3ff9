"""What the contracts of kernels run over."""

import pytest
from conftest import random_comparisons

from closerthan.losses import LOSSES


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]().in_dims(3)


@pytest.fixture(params=["equal", "weighted"])
def answers(request, kind, rng):
    return random_comparisons(kind, rng, weighted=request.param == "weighted")
