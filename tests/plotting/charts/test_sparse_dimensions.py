"""Figures of sparse dimensions."""

import dataclasses

import numpy as np
import pytest

import closerthan as ct
from closerthan.plotting import dimensions_figure, profile_figure


@pytest.fixture(scope="module")
def dimensions():
    x = np.kron(np.eye(2), np.ones((8, 1))) * 2
    answers = ct.answers_from(
        x, 1500, similarity="dot", question="odd-one-out", temperature=1.0, names=[f"${k}_a" for k in range(16)]
    )
    return ct.sparse_dimensions(answers, 4, penalty=0.1, n_refits=1)


def test_bars_have_the_length_of_the_sums(dimensions):
    bars = dimensions_figure(dimensions).axes[0].patches
    assert np.allclose([bar.get_width() for bar in bars], dimensions.weights.sum(axis=0))


def test_dimensions_that_did_not_return_have_another_colour(dimensions):
    unsure = dataclasses.replace(dimensions, correlations=np.array([[0.9, 0.1]]))
    first, second = dimensions_figure(unsure).axes[0].patches
    assert first.get_facecolor() != second.get_facecolor()


def test_a_profile_has_the_positive_weights_of_the_object_in_descending_order(dimensions):
    figure = profile_figure(dimensions, 2)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == sorted(dimensions.weights[2][dimensions.weights[2] > 0], reverse=True)
    assert figure.axes[0].get_title(loc="left") == "$2_a"


def test_other_objects_are_refused():
    with pytest.raises(ValueError, match=r"must be a result of closerthan.sparse_dimensions"):
        dimensions_figure(5)
