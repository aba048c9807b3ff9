"""Uncertainty of a map: replicates, ellipses, probabilities, tests and learning curves.

**Replicates.** The answers are resampled, and a map is fitted to each resample, starting at the fitted map
(:mod:`closerthan.uncertainty.bootstrap`). The resampling unit is the person if at least five people are known, because
the answers of one person are correlated; otherwise it is a block of dependent answers, or a single answer. Every unit
gets a random weight from the exponential distribution (the Bayesian bootstrap), or, if there are many answers, answers
are drawn with replacement. Replicates R_1, ..., R_B are aligned by generalised Procrustes analysis
(:mod:`closerthan.uncertainty.alignment`).

**Ellipses.** For object i at x_i on the fitted map, ``M_i = sum_b (R_b,i - x_i)(R_b,i - x_i)' / (B - 1)``. The ellipse
of level a in p dimensions contains all y with

    (y - x_i)' M_i^-1 (y - x_i) <= p (B - 1) / (B - p) F_a(p, B - p),

where F_a is a quantile of the F distribution (Hotelling's T-squared). Replicates start at the fitted map and share its
errors, such as a part that is folded over. Where the map is wrong in this way, ellipses contain the true position less
often than their nominal level.

**Probabilities of answers.** A committee of maps, each fitted without one fold from its own random start, predicts by
the mean of their log odds, after those of each map are divided by their root mean square. A calibration curve with a
lapse rate, fitted to the held-out answers, turns this mean into a probability
(:mod:`closerthan.uncertainty.committee`). A triplet is decided if 95 % of the replicates agree on it.

**Probabilities of neighbours.** The fraction of the replicates in which j is among the k nearest of i is overconfident.
It is calibrated by a double bootstrap: studies are simulated from the fitted map, fitted and replicated in turn
(:mod:`closerthan.uncertainty.neighbours`).

**Learning curves.** The cross-validated error with n answers is modelled as ``floor + gain * n ** -power``
(:mod:`closerthan.uncertainty.power_law`), which predicts the error with more answers. Repeated questions bound the
error of any map from below: with agreement c, by ``(1 - sqrt(2 c - 1)) / 2`` (:mod:`closerthan.evaluate.repeats`).

**Differences between maps.** A permutation test of the hypothesis that two groups of answers share one map compares how
well the map of each group predicts the other group's answers (:mod:`closerthan.uncertainty.map_difference`).

References
----------
R. Beran, Prepivoting to reduce level error of confidence sets, Biometrika 1987.
B. Efron, Bootstrap methods: another look at the jackknife, The Annals of Statistics 1979.
J. C. Gower, Generalized Procrustes analysis, Psychometrika 1975.
A. Krogh and J. Vedelsby, Neural network ensembles, cross validation, and active learning, NIPS 1995.
M. Kull, T. M. Silva Filho and P. Flach, Beta calibration, AISTATS 2017.
D. B. Rubin, The Bayesian bootstrap, The Annals of Statistics 1981.
"""
