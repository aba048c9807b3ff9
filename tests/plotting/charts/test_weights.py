import pytest
from people_who_differ import people_who_weigh

import closerthan as ct
from closerthan import ParameterError
from closerthan.plotting import weights_figure


@pytest.fixture(scope="module")
def maps():
    answers, _, _ = people_who_weigh(0.6, n_people=6, n_answers=60)
    return ct.embed_people(answers, 3, loss="ste", penalty=0.1, spread=0.5, seed=0)


def test_every_person_is_a_point_at_the_weights_of_the_two_dimensions(maps):
    (ax,) = weights_figure(maps, dims=(3, 1)).axes
    points = ax.collections[-1].get_offsets()
    assert points.tolist() == maps.weights[:, [2, 0]].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("weight of dimension 3", "weight of dimension 1")


@pytest.mark.parametrize("dims", [(1, 1), (0, 1), (1, 4)])
def test_dimensions_that_do_not_exist_are_an_error(maps, dims):
    with pytest.raises(ParameterError, match="it must be two different numbers from 1 to 3"):
        weights_figure(maps, dims=dims)
