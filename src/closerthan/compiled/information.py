"""What the answer to a question would tell: how much maps that are all likely disagree about it.

With ``p`` the probabilities of the answers on each map and ``H`` the entropy, the answer tells
``H(mean p) - mean H(p)`` nats about which of the maps is right: their mutual information (Houlsby et al. 2011).
The first part alone is how uncertain the answer is, which is also high where people toss a coin.
"""

import math

from closerthan.compiled.compiling import inlined, kernel, value


@inlined
def squared_distance(x, i, j):
    """The squared distance of two objects on a map."""
    total = 0.0
    for c in range(x.shape[1]):
        difference = x[i, c] - x[j, c]
        total += difference * difference
    return total


@inlined
def surprise(p):
    """One answer's part of an entropy: ``-p log p``."""
    return -p * math.log(p) if p > 0.0 else 0.0


@kernel
def closer_entropies(loss, questions, maps, of_mean, mean_of):
    """For rows (anchor, option, option): the entropy of the mean probability, and the mean of the entropies."""
    n_maps = maps.shape[0]
    for q in range(questions.shape[0]):
        i, j, k = questions[q, 0], questions[q, 1], questions[q, 2]
        mean, entropy = 0.0, 0.0
        for m in range(n_maps):
            one, other = squared_distance(maps[m], i, j), squared_distance(maps[m], i, k)
            # Both values are needed where they do not come from probabilities: the hinges of gnmds and soe.
            p = 1.0 / (1.0 + math.exp(min(value(loss, one, other) - value(loss, other, one), 700.0)))
            mean += p / n_maps
            entropy += (surprise(p) + surprise(1.0 - p)) / n_maps
        of_mean[q] = surprise(mean) + surprise(1.0 - mean)
        mean_of[q] = entropy


@kernel
def odd_entropies(loss, questions, maps, of_mean, mean_of):
    """The same for "which of these three is the odd one?", which costs what its two comparisons cost."""
    n_maps = maps.shape[0]
    for q in range(questions.shape[0]):
        i, j, k = questions[q, 0], questions[q, 1], questions[q, 2]
        mean_i, mean_j, mean_k, entropy = 0.0, 0.0, 0.0, 0.0
        for m in range(n_maps):
            x = maps[m]
            ij, ik, jk = squared_distance(x, i, j), squared_distance(x, i, k), squared_distance(x, j, k)
            cost_i = value(loss, jk, ij) + value(loss, jk, ik)
            cost_j = value(loss, ik, ij) + value(loss, ik, jk)
            cost_k = value(loss, ij, ik) + value(loss, ij, jk)
            least = min(cost_i, cost_j, cost_k)
            p_i, p_j, p_k = math.exp(least - cost_i), math.exp(least - cost_j), math.exp(least - cost_k)
            total = p_i + p_j + p_k
            p_i, p_j, p_k = p_i / total, p_j / total, p_k / total
            mean_i, mean_j, mean_k = mean_i + p_i / n_maps, mean_j + p_j / n_maps, mean_k + p_k / n_maps
            entropy += (surprise(p_i) + surprise(p_j) + surprise(p_k)) / n_maps
        of_mean[q] = surprise(mean_i) + surprise(mean_j) + surprise(mean_k)
        mean_of[q] = entropy
