"""Kernels for the expected information of an answer, given several plausible maps.

With ``p`` the probabilities of the possible answers according to each map and ``H`` the entropy, an answer is
expected to provide ``H(mean p) - mean H(p)`` nats of information about which map is right: the mutual information of
the answer and the map (Houlsby et al. 2011). The first term alone measures how uncertain the answer is, which is also
high where people answer at random.
"""

import math

import numpy as np

from closerthan.compiled.compiling import inlined, kernel, value


@inlined
def squared_distance(x, i, j):
    """Return the squared distance between two objects on a map."""
    total = 0.0
    for c in range(x.shape[1]):
        difference = x[i, c] - x[j, c]
        total += difference * difference
    return total


@inlined
def surprise(p):
    """Return ``-p log p``, the contribution of one answer to an entropy."""
    return -p * math.log(p) if p > 0.0 else 0.0


@kernel
def closer_entropies(loss, questions, maps, of_mean, mean_of):
    """Compute, for rows (anchor, option, option), the entropy of the mean probability and the mean entropy."""
    n_maps = maps.shape[0]
    for q in range(questions.shape[0]):
        i, j, k = questions[q, 0], questions[q, 1], questions[q, 2]
        mean, entropy = 0.0, 0.0
        for m in range(n_maps):
            one, other = squared_distance(maps[m], i, j), squared_distance(maps[m], i, k)
            # Both values are needed because the hinge losses (gnmds, soe) are not log-likelihoods.
            p = 1.0 / (1.0 + math.exp(min(value(loss, one, other) - value(loss, other, one), 700.0)))
            mean += p / n_maps
            entropy += (surprise(p) + surprise(1.0 - p)) / n_maps
        of_mean[q] = surprise(mean) + surprise(1.0 - mean)
        mean_of[q] = entropy


@kernel
def odd_entropies(loss, questions, maps, of_mean, mean_of):
    """Compute the same for questions "which of these three is the odd one out?".

    The loss of such an answer is the sum of the losses of the two comparisons that it implies.
    """
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


@kernel
def picks_entropies(loss, questions, picks, is_ordered, maps, of_mean, mean_of):
    """Compute the same for questions "which of these options are the closest to the first object?".

    ``picks`` has one row of positions among the options for each possible answer. The loss of an answer is the sum of
    the losses of the comparisons that it implies: of each picked option with the options that were not picked and, if
    the picks are ordered, with those that were picked later.
    """
    n_maps, n_options, n_answers = maps.shape[0], questions.shape[1] - 1, picks.shape[0]
    costs = np.empty((n_options, n_options))
    distances = np.empty(n_options)
    p, mean = np.empty(n_answers), np.empty(n_answers)
    is_open = np.empty(n_options, np.bool_)
    for q in range(questions.shape[0]):
        mean[:] = 0.0
        entropy = 0.0
        for m in range(n_maps):
            for j in range(n_options):
                distances[j] = squared_distance(maps[m], questions[q, 0], questions[q, j + 1])
            for j in range(n_options):
                for k in range(n_options):
                    costs[j, k] = value(loss, distances[j], distances[k]) if j != k else 0.0
            least = np.inf
            for a in range(n_answers):
                is_open[:] = True
                if not is_ordered:
                    for place in range(picks.shape[1]):
                        is_open[picks[a, place]] = False
                cost = 0.0
                for place in range(picks.shape[1]):
                    j = picks[a, place]
                    is_open[j] = False
                    for k in range(n_options):
                        if is_open[k]:
                            cost += costs[j, k]
                p[a] = cost
                least = min(least, cost)
            total = 0.0
            for a in range(n_answers):
                p[a] = math.exp(least - p[a])
                total += p[a]
            for a in range(n_answers):
                probability = p[a] / total
                mean[a] += probability / n_maps
                entropy += surprise(probability) / n_maps
        surprise_of_mean = 0.0
        for a in range(n_answers):
            surprise_of_mean += surprise(mean[a])
        of_mean[q] = surprise_of_mean
        mean_of[q] = entropy
