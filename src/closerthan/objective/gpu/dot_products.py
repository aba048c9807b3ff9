"""The likelihood of whole answers under a choice rule with dot products, on a GPU."""

from typing import Any

import numpy as np
import torch

from closerthan.arrays import Array
from closerthan.objective.dot_products import ShownPairs

__all__ = ["DotProductsOnGPU"]


class DotProductsOnGPU:
    """The mean loss of choices by dot products and its gradient, as :class:`DotProducts`, in PyTorch.

    Sums over answers are formed in no fixed order, so results vary in their last digits from run to run.

    Parameters
    ----------
    pairs
        The choices.
    device
        The name of a device of PyTorch, as in "cuda".
    weights
        Weight of each answer; None means that all are equal.
    """

    def __init__(self, pairs: ShownPairs, device: str, weights: Array | None = None) -> None:
        self.pairs = pairs
        self._device = torch.device(device)
        self._one, self._other = (torch.as_tensor(objects, device=self._device) for objects in (pairs.one, pairs.other))
        self._places = [torch.as_tensor(group.places, device=self._device) for group in pairs.groups]
        self._signs = [
            None if group.signs is None else torch.as_tensor(group.signs, device=self._device) for group in pairs.groups
        ]
        self._set_weights(weights)

    def _set_weights(self, weights: Array | None) -> None:
        by_choice = self.pairs.weights_of_choices(weights)
        self._weights = [
            torch.as_tensor(by_choice[group.choices].astype(np.float32), device=self._device)
            for group in self.pairs.groups
        ]

    def weighted(self, weights: Array | None) -> "DotProductsOnGPU":
        """Return the likelihood with another weight for each answer; None means that all are equal."""
        other = DotProductsOnGPU.__new__(DotProductsOnGPU)
        other.__dict__.update(self.__dict__)
        other._set_weights(weights)
        return other

    def at(self, x: Array) -> tuple[float, Array]:
        """Return the mean loss and its gradient."""
        rows = torch.as_tensor(x.astype(np.float32), device=self._device)
        value, sums = self._by_pair(self._dot_products(rows))
        return float(value), self._times(sums, rows).cpu().numpy().astype(np.float64)

    def by_pair(self, dot_products: Any) -> tuple[float, Any]:
        """Return the mean loss and its derivative with respect to the dot product of each distinct pair."""
        value, sums = self._by_pair(torch.as_tensor(dot_products, device=self._device))
        return float(value), sums.cpu().numpy()

    def _by_pair(self, dot_products: Any) -> tuple[Any, Any]:
        sums = torch.zeros(len(self._one), device=self._device)
        value = torch.zeros((), dtype=torch.float64, device=self._device)
        for places, signs, weights in zip(self._places, self._signs, self._weights, strict=True):
            scores = dot_products[places]
            if signs is not None:
                scores *= signs
            logs = torch.log_softmax(scores, dim=0)
            value -= torch.dot(logs[0].double(), weights.double())
            slopes = logs.exp_() * weights
            slopes[0] -= weights
            if signs is not None:
                slopes *= signs
            sums.index_add_(0, places.reshape(-1), slopes.reshape(-1))
        return value, sums

    def _dot_products(self, x: Any) -> Any:
        if self.pairs.is_dense:
            return (x @ x.T)[self._one, self._other]
        return torch.cat([(x[one] * x[other]).sum(dim=1) for one, other in zip(*self._halves(), strict=True)])

    def _halves(self) -> tuple[Any, Any]:
        return self._one.split(1 << 20), self._other.split(1 << 20)

    def _times(self, sums: Any, x: Any) -> Any:
        """Return the product of the symmetric matrix of the coefficients and x."""
        if self.pairs.is_dense:
            matrix = torch.zeros((len(x), len(x)), device=self._device)
            matrix[self._one, self._other] = sums
            matrix[self._other, self._one] = sums
            return matrix @ x
        product = torch.zeros_like(x)
        parts = zip(*self._halves(), sums.split(1 << 20), strict=True)
        for one, other, part in parts:
            product.index_add_(0, one, part[:, None] * x[other])
            product.index_add_(0, other, part[:, None] * x[one])
        return product
