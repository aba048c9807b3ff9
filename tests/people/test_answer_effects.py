import numpy as np
import pytest
from benchmarks.answer_effects import World

import closerthan as ct
from closerthan import ParameterError
from closerthan.people.answer_effects import without_sets

QUICK = {"loss": "ste", "penalty": 0, "seed": 0}


@pytest.fixture(scope="module")
def preferring():
    """People with preferences for positions, who also repeat them, and what is found."""
    study = World(3, positions=1.5, repetition=1.5, n_people=10, each=80, n_objects=8, scale=1.0).study(0)
    return study, ct.answer_effects(study.answers, 2, **QUICK)


@pytest.fixture(scope="module")
def undecided():
    """People who call two pairs equal if both are about as close, and who lapse."""
    study = World(2, ties=1.0, lapses=0.15, n_people=10, each=100, n_objects=8, scale=1.5).study(0)
    return study, ct.answer_effects(study.answers, 2, ties=study.ties, **QUICK)


def test_preferences_and_repetition_are_found_and_nothing_else(preferring):
    effects = preferring[1]
    assert effects.terms == ("positions", "repetition")
    assert repr(effects) == "AnswerEffects(10 people, 8 objects, 2 dimensions: positions and repetition)"
    assert all(effects.evidence.added[name].is_significant for name in effects.terms)
    assert not effects.evidence.beyond["lapses"].is_significant


def test_the_preferences_of_people_are_recovered(preferring):
    study, effects = preferring
    true = study.truth.positions - study.truth.positions.mean(axis=1, keepdims=True)
    found = effects.values[:, :3]
    assert np.allclose(found.sum(axis=1), 0)
    assert np.corrcoef(true.ravel(), found.ravel())[0, 1] > 0.9
    assert np.mean((effects.low[:, :3] < true) & (true < effects.high[:, :3])) > 0.8
    assert effects.typical[3] == pytest.approx(1.5, abs=0.4)  # all repeat alike
    assert effects.typical_low[3] < 1.5 < effects.typical_high[3]


def test_map_and_terms_together_predict_best(preferring):
    evidence = preferring[1].evidence
    alone, terms, full = evidence.map_alone, evidence.terms_alone, evidence.full
    assert full.bits < min(alone.bits, terms.bits)
    assert full.accuracy.accuracy > max(alone.accuracy.accuracy, terms.accuracy.accuracy)
    assert [model.name for model in evidence.models][-2:] == ["positions + repetition", "map + positions + repetition"]


def test_the_sentences_say_what_was_found(preferring):
    text = "\n".join(preferring[1].sentences)
    assert "with a preference for positions on the screen and repetition of the position chosen last" in text
    assert "lapses: left out, since a gain of" in text
    assert "repeat the position chosen before; random choices would repeat 33.3 %" in text


def test_tables_have_a_line_per_person_and_per_term(preferring, tmp_path):
    effects = preferring[1]
    effects.to_csv(tmp_path / "people.csv")
    effects.terms_to_csv(tmp_path / "terms.csv")
    people = (tmp_path / "people.csv").read_text().splitlines()
    assert people[0].startswith("person,answers,position_1_of_3,position_1_of_3_low,position_1_of_3_high")
    assert len(people) == 11
    terms = [line.split(",")[:2] for line in (tmp_path / "terms.csv").read_text().splitlines()]
    assert terms == [["term", "kept"], ["positions", "yes"], ["repetition", "yes"], ["lapses", "no"]]
    assert "<table" in effects._repr_html_()
    assert effects.rows()[-1][0] == "typical"


@pytest.mark.slow
def test_ties_and_lapses_are_found_and_recovered(undecided):
    study, effects = undecided
    assert effects.terms == ("ties", "lapses")
    assert effects.n_ties == len(study.ties)
    assert effects.typical[0] == pytest.approx(1.0, abs=0.3)
    assert np.corrcoef(effects.values[:, 1], study.truth.lapses)[0, 1] > 0.7


def test_the_map_is_that_of_a_fit_with_the_same_objects(undecided):
    study, effects = undecided
    assert isinstance(effects.result, ct.Result)
    assert ct.triplet_error(study.answers, effects.result.embedding) < 0.35


@pytest.mark.slow
def test_ties_at_random_explain_nothing():
    study = World(2, random_ties=0.2, n_people=6, each=50, n_objects=8, scale=0.8).study(2)
    assert "ties" not in ct.answer_effects(study.answers, 1, ties=study.ties, **QUICK).terms


def test_one_person_is_enough():
    study = World(2, repetition=2.0, n_people=1, each=400, n_objects=8, scale=0.6).study(3)
    effects = ct.answer_effects(study.answers, 2, **QUICK)
    assert "repetition" in effects.terms
    assert "not for other people" in " ".join(effects.sentences)
    place = [effect.name for effect in effects.effects].index("repetition")
    assert effects.low[0, place] < 2.0 < effects.high[0, place]


def test_without_people_only_the_whole_group_is_described():
    answers = World(2, n_people=4, each=100, n_objects=8).study(4).answers.replace(people=None, person_names=None)
    effects = ct.answer_effects(answers, 2, **QUICK)
    assert effects.people == ("everybody",)
    assert "repetition" not in effects.evidence.added
    assert "do not say who gave them" in " ".join(effects.sentences)


def test_the_same_seed_gives_the_same_numbers():
    study = World(3, positions=1.5, n_people=3, each=50, n_objects=8).study(5)
    one, two = (ct.answer_effects(study.answers, 1, **QUICK) for _ in range(2))
    assert np.array_equal(one.values, two.values)


def test_bad_input_gets_a_clear_sentence():
    study = World(2, n_people=3, each=40, n_objects=8).study(6).answers
    nowhere = study.replace(trials=None)
    with pytest.raises(ValueError, match="neither positions of objects on the screen nor ties are known"):
        ct.answer_effects(nowhere, 1, **QUICK)
    left = study.replace(trials=ct.Trials(sides=np.zeros(len(study), int)))
    with pytest.raises(ValueError, match=r"known \(the chosen object is on the left in 100.0 % of the answers"):
        ct.answer_effects(left, 1, **QUICK)
    same = study.take([0] * 30).replace(answers=np.arange(30))
    with pytest.raises(ValueError, match="all answers are about the same objects, so none can be held out"):
        ct.answer_effects(same, 1, **QUICK, ties=study.take([0]))
    with pytest.raises(ParameterError, match="no probabilities of whole answers, which terms of answers need"):
        ct.answer_effects(study, 1, loss="soe")
    other = ct.Comparisons.from_triplets([[0, 1, 2]], people=["0"])
    with pytest.raises(ValueError, match="the ties are about 3 objects, the answers about 8"):
        ct.answer_effects(study, 1, ties=other, **QUICK)
    with pytest.raises(ValueError, match="either both answers and ties say who gave them"):
        ct.answer_effects(study, 1, ties=study.replace(people=None, person_names=None), **QUICK)


def test_answers_without_a_probability_are_left_out():
    two_nearest = [[0, near, far] for near in (1, 2) for far in (3, 4)]
    answers = ct.Comparisons.from_triplets([[0, 1, 2], *two_nearest, [1, 3, 4]], answers=[5, 6, 6, 6, 6, 7])
    rest, sentence = without_sets(answers)
    assert rest.rows.tolist() == [[0, 1, 2], [1, 3, 4]]
    assert sentence == (
        "1 of 3 answers name several objects in no particular order; these are left out, because the model has no "
        "probability for them"
    )


def test_answers_without_a_probability_are_refused_if_there_are_no_others():
    people = {"people": [0] * 4, "answers": [0] * 4}
    two_nearest = ct.Comparisons.from_triplets([[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]], **people)
    with pytest.raises(ValueError, match=r"1 of 1 answers name several objects in no particular order.* rankings$"):
        ct.answer_effects(two_nearest, 1, **QUICK)
    odd_of_four = ct.Comparisons.from_triplets(
        [[a, b, 3] for a in range(3) for b in range(3) if a != b], people=[0] * 6, answers=[0] * 6
    )
    with pytest.raises(ValueError, match=r"1 of 1 answers name the odd one of more than three objects.* rankings$"):
        ct.answer_effects(odd_of_four, 1, **QUICK)
    odd_of_three = World(3, n_people=3, each=40, n_objects=8).study(6).answers
    with pytest.raises(ValueError, match="2 of 2 ties are not between two options"):
        ct.answer_effects(odd_of_three, 1, ties=odd_of_three.take(np.arange(4)), **QUICK)
