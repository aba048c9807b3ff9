"""People: who answered, and how carefully. Lapse rates, verdicts, weights, and groups with maps of their own.

**Lapses.** A person w answers according to the map, or occasionally guesses. The probability of an answer t is

    P(t) = (1 - l_w) p(t) + l_w b_w(t),    p(t) = 1 / (1 + exp(-s z(t))),

where l_w is the person's lapse rate, z(t) are the log odds of the answer on a map that has not seen it, s is a slope
common to all people, and b_w is one half, or the person's own preference for the side that was chosen. Rates have a
Beta(2, 10) prior. The probability that an answer is not a guess is

    r(t) = (1 - l_w) p(t) / ((1 - l_w) p(t) + l_w b_w(t)),

and the rate that maximises the posterior satisfies ``l_w = (1 + sum(1 - r)) / (10 + m_w)`` for a person with m_w
answers (:mod:`closerthan.people.lapses`). The reliabilities r are the weights of the next maps, and fits and lapse
models alternate for at most six rounds. Each person is judged only by maps fitted to the others' answers.

**Verdicts.** A high lapse rate has two explanations: carelessness, or another view. No map predicts random answers,
while the answers of a minority are predicted by a map of the people who answer alike, or of the person's own answers.
Both maps are cross-validated before anybody is called careless (:mod:`closerthan.people.quality`). Check questions, the
balance of sides and response times are further evidence (:mod:`closerthan.people.person`). The researcher's page of a
running study, ``closerthan people`` and the report use the same verdicts and thresholds. Weights are used only if they
lower the error on the answers of people who are not in doubt, and nobody is excluded.

**Groups.** People are assigned to K groups in the manner of k-means: a map is fitted to the answers of each group, and
each person moves to the group whose map gives the highest likelihood to those of the person's answers that the map was
not fitted to. K maps are preferred to fewer if they predict held-out answers better. The test flips the signs of the
people's gains at random, with a Bonferroni correction for the numbers of groups that are tried
(:mod:`closerthan.people.groups`).

**Weights of dimensions.** People may see one map whose dimensions they weigh differently. The weights are fitted
jointly with the map, and held-out answers show whether people differ (:mod:`closerthan.people.individuals`).

**Effects.** Positions on the screen, repetition, ties and lapses are terms of one model of an answer, whose parameters
are fitted for each person jointly with the map (:mod:`closerthan.people.answer_effects`).

References
----------
F. A. Wichmann and N. J. Hill, The psychometric function: I. Fitting, sampling, and goodness of fit, Perception &
Psychophysics 2001 (lapse rates).
A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
Statistics 1979.
M. N. Hebart, C. Y. Zheng, F. Pereira and C. I. Baker, Revealing the multidimensional mental representations of natural
objects underlying human similarity judgements, Nature Human Behaviour 2020 (the rule for hasty answers).
"""
