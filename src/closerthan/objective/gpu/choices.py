"""The likelihood of whole answers on a GPU: losses of choices among pairs and their gradient, by Triton kernels."""

import copy
from typing import TYPE_CHECKING

import numpy as np
import torch

from closerthan.arrays import Array
from closerthan.compiled.kernels.choices import ChoiceRows
from closerthan.losses import Loss, penalty_weight, without_penalty
from closerthan.objective.gpu import kernels
from closerthan.objective.gpu.blocks import as_tensor
from closerthan.objective.gpu.losses import similarity_in_triton
from closerthan.objective.gpu.rows import DeviceMap, block_and_width, or_placeholder, rows_on
from closerthan.objective.protocol import STEPS_ALONG_CHOICES, ChoiceTotals
from closerthan.objective.scales import sample_places

if TYPE_CHECKING:
    from closerthan.objective.visits import Order

__all__ = ["ChoiceSumsOnGPU"]

MOST_PAIRS = 8  # pairs of a choice that a program visits at a time; a choice with more takes several rounds


class ChoiceSumsOnGPU:
    """The losses of choices at a map: the sums of :class:`~closerthan.objective.cpu.choices.ChoiceSums`, on a GPU.

    Parameters
    ----------
    rows
        The choices, without offsets.
    loss
        A loss with a similarity.
    weights
        Weight of each choice; None if all are equal.
    where
        PyTorch's device.
    """

    capabilities = STEPS_ALONG_CHOICES

    def __init__(self, rows: ChoiceRows, loss: Loss, weights: Array | None, where: torch.device) -> None:
        self._loss, self._where = loss, where
        self._rules = similarity_in_triton(without_penalty(loss))
        self._use_rows(rows)
        self._use_weights(weights)

    def _use_rows(self, rows: ChoiceRows) -> None:
        self.rows = rows
        self._most_pairs = int(np.diff(rows.starts).max(initial=1))
        self._tensors = [as_tensor(array).to(self._where) for array in (rows.pairs, rows.starts, rows.signs)]

    def _use_weights(self, weights: Array | None) -> None:
        self.weights = weights
        self._weights = None if weights is None else as_tensor(weights).to(self._where)

    def __len__(self) -> int:
        return len(self.rows.signs)

    @property
    def totals(self) -> ChoiceTotals:
        return ChoiceTotals.of(np.diff(self.rows.starts), self.weights)

    def counted_comparisons(self, x: Array) -> tuple[float, Array, float]:
        """Return the sum of the losses, its gradient, and the weight of the comparisons that agree with the map."""
        total, _, beaten, gradient = self._counted(x)
        return total, gradient, beaten

    def gradient(self, x: Array, order: "Order") -> tuple[float, Array, float]:
        """Return the sum of the losses of these choices, its gradient, and the weight of those that the map makes."""
        total, right, _, gradient = self._counted(x, order)
        return total, gradient, right

    def _counted(self, x: Array, order: "Order | None" = None) -> tuple[float, float, float, Array]:
        rows = rows_on(self._where, x)
        out = torch.zeros_like(rows)
        visited = None if order is None else torch.from_numpy(order).to(self._where)
        counts = self._run(rows, out=out, order=visited)
        return *counts, np.ascontiguousarray(out[:, : x.shape[1]].cpu().numpy())

    def sums(self, x: Array | DeviceMap, scales: Array) -> tuple[Array, float]:
        """Return the sum of the losses of each map ``scale * x``, and the weight of the comparisons x agrees with."""
        rows = rows_on(self._where, x).double()
        sums = [self._run(rows, scale=float(scale)) for scale in scales]
        return np.array([total for total, _, _ in sums]), sums[0][2]

    def descend(self, order: "Order", x: Array, batch_size: int, step: float) -> None:
        """Take stochastic gradient steps along batches of choices; ``x`` is modified in place."""
        rows, visited = rows_on(self._where, x), torch.from_numpy(order).to(self._where)
        for batch in visited[: len(order) // batch_size * batch_size].split(batch_size):
            out = torch.zeros_like(rows)
            self._run(rows, out=out, order=batch, factor=step / batch_size)
            rows -= out
        x[:] = rows[:, : x.shape[1]].cpu().numpy()

    def reweighted(self, weights: Array | None) -> "ChoiceSumsOnGPU":
        """Return the same sums with other weights of the choices."""
        other = copy.copy(self)
        other._use_weights(weights)
        return other

    def sample(self, n_choices: int) -> "ChoiceSumsOnGPU":
        """Return the sums over this number of choices, evenly spread; all of them if there are fewer."""
        if len(self) <= n_choices:
            return self
        places = sample_places(len(self), n_choices)
        other = self.reweighted(None if self.weights is None else self.weights[places])
        other._use_rows(self.rows.take(places))
        return other

    def _run(
        self,
        rows: torch.Tensor,
        *,
        out: torch.Tensor | None = None,
        order: torch.Tensor | None = None,
        scale: float = 1.0,
        factor: float = 1.0,
    ) -> tuple[float, float, float]:
        """Return the sum of the losses and the weights of correct choices and comparisons; add the gradient to out."""
        n_rows, width = block_and_width(rows.shape[1], one_per_thread=out is None)
        n_pairs = min(1 << (self._most_pairs - 1).bit_length(), MOST_PAIRS)
        block, n_choices = max(n_rows // n_pairs, 1), len(self) if order is None else len(order)
        programs = -(-n_choices // block)
        counts = torch.empty(3, programs, dtype=torch.float64, device=self._where)
        pairs, starts, signs = self._tensors
        kernels.choice_sums[(programs,)](
            pairs, starts, signs, or_placeholder(self._weights, starts), or_placeholder(order, starts), rows, n_choices,
            scale, factor, penalty_weight(self._loss), or_placeholder(out, rows),
            *counts,
            log_similarity=self._rules.log_similarity, similarity_slope=self._rules.similarity_slope,
            STRIDE=rows.shape[1], WIDTH=width, BLOCK=block, PAIRS=n_pairs, WEIGHTED=self._weights is not None,
            ORDERED=order is not None, GRADIENT=out is not None,
        )  # fmt: skip
        total, right, beaten = counts.sum(dim=1).tolist()
        return total, right, beaten
