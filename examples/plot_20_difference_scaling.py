"""
A perceptual scale in physical units
====================================

In difference scaling (MLDS), observers compare intervals between ordered levels of a stimulus. Their answers give a
scale: how does the impression grow with the physical quantity?
"""

import numpy as np

import closerthan as ct

contrast = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0])


def observer(exponent, noise, n_answers, seed):
    """Judge random triads: is the upper interval larger than the lower one?"""
    rng = np.random.default_rng(seed)
    triads = np.array(
        [np.sort(rng.choice(len(contrast), 3, replace=False)) for _ in range(n_answers)]
    )
    steps = np.diff(contrast[triads] ** exponent)
    larger = steps[:, 1] - steps[:, 0] + rng.normal(0, noise, n_answers) > 0
    return np.where(larger[:, None], triads[:, [1, 0, 2]], triads[:, [1, 2, 0]])


# %%
# Each row (b, a, c) says that the interval between a and b is smaller than the one between b and c.
scale = ct.scale(observer(0.6, 0.12, 600, seed=0), levels=contrast)
scale

# %%
# Does one scale with constant noise explain the answers? A small p value would say no.
print(
    f"deviance: p = {scale.deviance_p:.2f}; runs of residuals: p = {scale.runs_p:.2f}"
)
print(scale.advice)

# %%
# Two observers on the axis of the physical unit, with 95 % intervals; the dotted line is a scale that follows the unit.
other = ct.scale(observer(1.8, 0.2, 600, seed=1), levels=contrast)
ct.plotting.scale_figure({"observer 1": scale, "observer 2": other}, unit="contrast")

# %%
# The scale predicts judgements of any two intervals:
print(f"{scale.difference_probability((0.0, 0.2), (0.3, 1.0)):.2f}")
