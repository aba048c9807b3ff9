"""PyTorch's Adam on closerthan's objective (ste), with automatic differentiation; runs in the torch environment."""

import time

import torch
from protocol import error, serve

BATCH = 50_000  # comparisons per step, as in cblearn's own use of Adam


def fit(request, data, measured):
    torch.set_num_threads(request["n_threads"])
    generator = torch.Generator().manual_seed(request["seed"])
    rows = torch.from_numpy(data["train"]).long()
    head = rows[:, 2] if rows.shape[1] == 4 else rows[:, 0]
    x = 0.1 * torch.randn(int(data["n_objects"]), int(data["n_dims"]), generator=generator, dtype=torch.float64)
    x.requires_grad_(True)
    optimiser = torch.optim.Adam([x], lr=request["learning_rate"])
    seconds, errors, spent = [], [], 0.0
    with measured:
        while spent < request["time_limit"] and len(errors) < request["epochs"]:
            begin = time.perf_counter()
            for batch in torch.randperm(len(rows), generator=generator).split(BATCH):
                optimiser.zero_grad()
                near = ((x[rows[batch, 0]] - x[rows[batch, 1]]) ** 2).sum(1)
                far = ((x[head[batch]] - x[rows[batch, -1]]) ** 2).sum(1)
                torch.nn.functional.softplus(near - far).mean().backward()
                optimiser.step()
            spent += time.perf_counter() - begin
            seconds.append(round(spent, 6))
            errors.append(error(data["test"], x.detach().numpy()))
    measured.seconds = spent
    return {"error": errors[-1], "curve_seconds": seconds, "curve_error": errors, "setup": 0.0}


serve(fit)
