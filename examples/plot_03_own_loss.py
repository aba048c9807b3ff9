"""
A loss of your own
==================

A loss is the cost of an answer as a function of its two squared distances. Two short methods in plain Python define it.
They are compiled, and run as fast as the losses that come with the package.
"""

import math

import closerthan as ct


class Probit(ct.Loss):
    """Thurstone's model: normally distributed noise on the difference of the two distances."""

    noise: float = 0.5

    def value(self, near, far):
        lead = (math.sqrt(far) - math.sqrt(near)) / self.noise
        return -math.log(max(0.5 * math.erfc(-lead / math.sqrt(2)), 1e-300))

    def slopes(self, near, far):
        near_distance, far_distance = (
            max(math.sqrt(near), 1e-9),
            max(math.sqrt(far), 1e-9),
        )
        lead = (far_distance - near_distance) / self.noise
        probability = max(0.5 * math.erfc(-lead / math.sqrt(2)), 1e-300)
        density = math.exp(-0.5 * lead * lead) / math.sqrt(2 * math.pi)
        slope = density / probability / self.noise
        return slope / (2 * near_distance), -slope / (2 * far_distance)


# %%
# The new loss can be used wherever the name of a loss can.
answers = ct.datasets.eurodist().comparisons()
result = ct.embed(answers, loss=Probit(noise=0.2), seed=0, n_starts=4)
result

# %%
figure = ct.plotting.overlay_figure(
    result.embedding,
    ct.embed(answers, loss="ste", seed=0, n_starts=4).embedding,
    answers.names,
    title="Probit over ste",
)
