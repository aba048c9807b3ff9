import itertools
import signal

import numpy as np
import pytest
from people_who_differ import people_who_weigh

import closerthan as ct
from closerthan import Comparisons, ParameterError
from closerthan.people.held_out_weights import BitsGain


def correlations(true, found):
    """Return the correlations of log weights, for the assignment of axes that maximises them."""
    n_dims = true.shape[1]
    table = np.corrcoef(np.log(true).T, np.log(found).T)[:n_dims, n_dims:]
    return max(
        ([table[k, order[k]] for k in range(n_dims)] for order in itertools.permutations(range(n_dims))), key=min
    )


@pytest.fixture(scope="module")
def different():
    """People who weigh two dimensions differently, and the fit."""
    answers, x, weights = people_who_weigh(0.6)
    return answers, x, weights, ct.embed_people(answers, 2, loss="ste", seed=0)


def test_known_weights_are_recovered_from_300_answers_per_person(different):
    _, _, weights, maps = different
    assert min(correlations(weights, maps.weights)) > 0.9


def test_people_who_weigh_dimensions_differently_are_distinguished_from_others(different):
    maps = different[-1]
    assert maps.weights_differ
    assert maps.evidence.weights.bits < maps.evidence.consistency.bits < maps.evidence.one_map.bits
    assert "weigh the dimensions differently" in maps.sentences[0]


def test_shuffled_people_gain_nothing(different):
    assert different[-1].evidence.gain_of_permuted.mean < 0


def test_the_intervals_contain_nearly_all_true_weights(different):
    _, _, weights, maps = different
    covered = [np.mean((maps.low < true) & (true < maps.high)) for true in (weights, weights[:, ::-1])]
    assert max(covered) >= 0.85


def test_the_axes_are_found_from_any_rotation_of_the_first_map(different):
    answers, _, weights, _ = different
    result = ct.embed(answers, 2, loss="ste", seed=1)
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    maps = ct.embed_people(answers, spread=0.6, result=ct.Result(
        result.embedding @ turn, result.history, "epochs", 0, settings=result.settings
    ))  # fmt: skip
    assert min(correlations(weights, maps.weights)) > 0.9


def test_mean_weights_are_1_and_axes_are_sorted(different):
    maps = different[-1]
    assert np.allclose(maps.weights.mean(axis=0), 1.0)
    assert (np.diff(maps.importance) <= 0).all()
    assert (maps.embedding[np.abs(maps.embedding).argmax(axis=0), [0, 1]] > 0).all()


def test_relative_weights_of_two_halves_of_the_answers_agree(different):
    maps = different[-1]
    assert (maps.reliability > 0.9).all()


def test_the_map_of_a_person_is_stretched_by_the_weights(different):
    maps = different[-1]
    assert np.allclose(maps.map_of("3"), maps.embedding * np.sqrt(maps.weights[3]))
    with pytest.raises(ParameterError, match="person is 'x'"):
        maps.map_of("x")


def test_a_result_is_saved_and_loaded(different, tmp_path):
    maps = different[-1]
    maps.save(tmp_path / "people.npz")
    again = ct.PeopleMaps.load(tmp_path / "people.npz")
    assert again.sentences == maps.sentences
    assert np.array_equal(again.weights, maps.weights)
    assert again.settings == maps.settings
    (tmp_path / "other.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="is not a saved map with individual weights"):
        ct.PeopleMaps.load(tmp_path / "other.npz")


def test_the_table_of_people_has_a_line_per_person_with_intervals(different, tmp_path):
    maps = different[-1]
    maps.to_csv(tmp_path / "people.csv")
    lines = (tmp_path / "people.csv").read_text().splitlines()
    assert len(lines) == 17
    assert lines[0] == "person,answers,consistency,weight_1,low_1,high_1,weight_2,low_2,high_2"


def test_the_people_as_points_are_a_map_that_can_be_clustered(different):
    maps = different[-1]
    assert maps.space.names == maps.people
    assert np.allclose(np.exp(maps.space.embedding), maps.relative_weights)
    assert len(ct.cluster(maps.space, 2).labels) == 16


@pytest.mark.slow
@pytest.mark.parametrize("consistency", [0.0, 0.5])
def test_no_weights_are_claimed_for_people_who_have_the_same_ones(consistency):
    claims = []
    for seed in range(20):
        answers, _, _ = people_who_weigh(0.0, consistency=consistency, n_answers=80, seed=seed)
        maps = ct.embed_people(answers, 2, loss="ste", seed=seed)
        claims.append(maps.weights_differ or (maps.consistencies_differ and not consistency))
    assert sum(claims) <= 1


@pytest.mark.slow
def test_differences_in_consistency_are_not_mistaken_for_differences_in_weights():
    answers, _, _ = people_who_weigh(0.0, consistency=0.7, n_answers=150, seed=1)
    maps = ct.embed_people(answers, 2, loss="ste", seed=0)
    assert not maps.weights_differ
    assert maps.consistencies_differ
    assert "no evidence that they weigh" in maps.sentences[0]


def test_careless_people_do_not_seem_to_weigh_dimensions_differently():
    answers, _, _ = people_who_weigh(0.0, n_answers=150, seed=2)
    rows, careless = np.array(answers.rows).reshape(-1, 2, 3), answers.people[::2] < 5
    turns = np.random.default_rng(0).integers(3, size=len(rows))
    for number in np.flatnonzero(careless):
        i, j, odd = np.roll(rows[number, 0], turns[number])
        rows[number] = [i, j, odd], [j, i, odd]
    maps = ct.embed_people(answers.replace(rows=rows.reshape(-1, 3)), 2, loss="ste", seed=0)
    assert not maps.weights_differ
    assert maps.consistencies_differ


def test_with_a_given_spread_nothing_is_held_out(different):
    maps = ct.embed_people(different[0], 2, loss="ste", seed=0, spread=0.0)
    assert maps.evidence is None
    assert "not tested" in maps.sentences[0]
    assert np.allclose(maps.weights[:, 0], maps.weights[:, 1])  # people differ in consistency only


def test_a_person_with_one_answer_keeps_weights_near_1_and_is_named(different):
    answers = different[0]
    first = answers.answers[answers.people == 5][0]
    part = answers.take((answers.people != 5) | (answers.answers == first))
    maps = ct.embed_people(part, 2, loss="ste", spread=0.3, seed=0)
    assert maps.n_answers[5] == 1
    assert np.abs(np.log(maps.relative_weights[5])).max() < 0.5
    assert any("1 person gave fewer than 20 answers (5)" in sentence for sentence in maps.sentences)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"people": None}, {}, "needs at least two people, but it is not known who gave the answers"),
        ({"people": np.zeros(4, dtype=np.int32), "person_names": ("a",)}, {}, "all answers are from one person"),
        ({}, {"n_dims": 1}, "n_dims is 1; people can weigh dimensions differently only if"),
        ({}, {"loss": "soe"}, "loss is 'soe'; it has no probabilities of whole answers"),
        ({}, {"spread": -1.0}, "spread is -1.0; it must be finite and not negative"),
        ({}, {"by": "people"}, "by is 'people'"),
        ({}, {"validation": 0.1}, "validation is 0.1; weights of people are fitted without early stopping"),
        ({}, {}, "all answers are about the same objects, so none can be held out"),
        ({}, {"spread": 0.2}, "all answers are about the same objects, so they say nothing about weights"),
    ],
)
def test_bad_input_gets_a_clear_sentence(change, options, message):
    rows = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0]]
    answers = Comparisons.from_triplets(rows, people=[0, 0, 1, 1]).replace(**change)
    with pytest.raises(ValueError, match=message):
        ct.embed_people(answers, **{"n_dims": 2, "loss": "ste", **options})


def test_halves_of_a_single_block_are_not_compared():
    rows = np.array([np.random.default_rng(seed).permutation(5)[:3] for seed in range(40)])
    answers = Comparisons.from_triplets(rows, people=np.arange(40) % 2, n_objects=5)
    answers = answers.replace(blocks=np.zeros(40, dtype=np.int32))
    maps = ct.embed_people(answers, 2, loss="ste", penalty=0.1, spread=0.2, seed=0)
    assert np.isnan(maps.reliability).all()


def test_people_who_gave_one_answer_each_cannot_be_compared():
    rows = np.array([np.random.default_rng(seed).permutation(5)[:3] for seed in range(20)])
    answers = Comparisons.from_triplets(rows, people=np.arange(20))
    with pytest.raises(ValueError, match="nobody answered two different questions"):
        ct.embed_people(answers, loss="ste")


def test_ctrl_c_keeps_the_trials_that_are_complete(different):
    answers = different[0]
    calls = []

    def after_two_folds(record, _):
        if record.epoch == 0:
            calls.append(1)
            if len(calls) == 4:  # the fit to all answers comes first, then one fit per fold
                signal.raise_signal(signal.SIGINT)
        return False

    maps = ct.embed_people(answers, 2, loss="ste", seed=0, callback=after_two_folds)
    assert maps.stopped_by == "interrupted"
    assert maps.evidence is not None
    assert "interrupted" in maps.sentences[-1]


def test_the_same_seed_gives_the_same_weights_for_any_number_of_threads(different):
    answers = different[0]
    one, two = (
        ct.embed_people(answers, 2, loss="ste", spread=0.3, seed=3, n_threads=number).weights for number in (1, 2)
    )
    assert np.array_equal(one, two)


def test_a_gain_is_significant_only_if_it_exceeds_its_noise():
    rng = np.random.default_rng(0)
    before, noise = np.full(400, -1.0), rng.standard_normal(400)
    units = np.arange(400)
    assert BitsGain.of(before, before + 0.3 + noise, units, None).is_significant
    assert not BitsGain.of(before, before - 0.3 + noise, units, None).is_significant
    assert not BitsGain.of(before, before, units, None).is_significant
