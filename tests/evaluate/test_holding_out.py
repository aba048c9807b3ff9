"""Units are held out as a whole: no answer, question or person is on both sides."""

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons.grouping import BY
from closerthan.evaluate import (
    cross_validation,
    facts,  # noqa: F401 - before margins are watched
)
from closerthan.evaluate.cross_validation import cross_validate, folds, gain
from closerthan.fit import fixed_loss, loss_race
from closerthan.metrics import clustered_number, effective_number, error_interval

SCREEN = 12


def screens(n_screens, seed, *, n_objects=40, n_dims=2, noise=0.6, n_people=10, every=5):
    """Which are the six nearest of eleven? Each screen is seen with an error of its own; every fifth is asked again."""
    rng = np.random.default_rng(seed)
    points = np.random.default_rng(99).standard_normal((n_objects, n_dims))
    rows, answers, people = [], [], []
    shown = None
    for screen in range(n_screens):
        if shown is None or screen % every:
            shown = rng.permutation(n_objects)[:SCREEN]
        anchor, *others = rng.permutation(shown) if screen % every == 0 else shown
        seen = points[others] + noise * rng.standard_normal((len(others), n_dims))
        order = np.array(others)[np.argsort(np.linalg.norm(seen - points[anchor], axis=1))]
        rows += [(anchor, near, far) for near in order[:6] for far in order[6:]]
        answers += [f"screen {screen}"] * 30
        people += [f"person {screen % n_people}"] * 30
    return ct.Comparisons.from_triplets(rows, n_objects=n_objects, answers=answers, people=people, unmentioned="ignore")


@pytest.fixture(scope="module")
def study():
    return screens(60, 0)


def assert_apart(train, test, by):
    """No answer and no question, or no person, is on both sides."""
    assert len(train)
    assert len(test)
    if by == "people":
        assert not set(train.people.tolist()) & set(test.people.tolist())
        return
    assert not set(train.answers.tolist()) & set(test.answers.tolist())
    assert not questions(train) & questions(test)


def questions(comparisons):
    mentioned = {}
    for answer, row in zip(comparisons.answers.tolist(), comparisons.rows.tolist(), strict=True):
        mentioned.setdefault(answer, set()).update(row)
    return {frozenset(objects) for objects in mentioned.values()}


@pytest.mark.parametrize("with_answers", [False, True])
def test_the_groups_of_a_part_are_those_of_its_rows(study, with_answers):
    study = study if with_answers else study.replace(answers=None)
    for part in study.split(0.3, np.random.default_rng(0)):
        alone = part.replace(rows=part.rows)  # does not know what was split
        assert np.array_equal(part.groups(), alone.groups())
        assert np.array_equal(np.unique(alone.groups()), np.arange(alone.groups().max() + 1))


def test_groups_are_numbered_without_gaps_if_answers_were_left_out():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [3, 4, 0]], answers=[1, 1, 2])
    last = answers.take(slice(2, None))
    assert last.groups().tolist() == [0]
    assert not last.has_several_groups()


def test_groups_can_be_changed_neither_by_the_caller_nor_by_other_weights(study):
    with pytest.raises(ValueError, match="read-only"):
        study.groups()[0] = 1
    assert np.array_equal(study.weighted(np.ones(len(study))).groups(), study.groups())
    assert np.array_equal(pickle.loads(pickle.dumps(study)).groups(), study.groups())


def by_folds(study, by, monkeypatch, tmp_path):
    return list(folds(study, 4, 3, by=by))


def by_split(study, by, monkeypatch, tmp_path):
    return [study.split(share, np.random.default_rng(0), by=by) for share in (0.1, 0.3, 0.5, 0.8)]


def by_the_splitter(study, by, monkeypatch, tmp_path):
    return [(study.take(train), study.take(test)) for train, test in ct.AnswerKFold(4, by=by).split(study)]


def by_groups_of_the_splitter(study, by, monkeypatch, tmp_path):
    groups = study.people if by == "people" else study.answers
    parts = ct.AnswerKFold(4, by=by).split(study.rows, groups=groups)
    return [(study.take(train), study.take(test)) for train, test in parts]


def by_the_race(study, by, monkeypatch, tmp_path):
    parts = [
        pair
        for *pair, _ in loss_race._parts(study, 2, np.random.default_rng(0), by, fitted=12_000, most_held_out=20_000)
    ]
    drawn = loss_race._parts(study, 0, np.random.default_rng(0), by, fitted=300, most_held_out=60)
    return parts + [pair for *pair, _ in drawn]


def watching(monkeypatch):
    """Record all pairs of a training and a held-out part that later fits use."""
    seen = []
    plain = fixed_loss._held_out

    def watched(*asked):
        parts = plain(*asked)
        seen.append(parts)
        return parts

    monkeypatch.setattr(fixed_loss, "_held_out", watched)
    return seen


def by_a_share_for_validation(study, by, monkeypatch, tmp_path):
    seen = watching(monkeypatch)
    ct.embed(study, loss="ste", penalty=0, seed=0, epochs=1, validation=0.2, by=by)
    return seen


def by_auto(study, by, monkeypatch, tmp_path):
    fitted, judged, margins = watching(monkeypatch), [], loss_race.margins

    def judging(test, embedding):
        judged.append((fitted[-1][0], test))
        return margins(test, embedding)

    monkeypatch.setattr(loss_race, "margins", judging)
    ct.embed(study, seed=0, epochs=1, loss="auto", by=by, n_threads=1)
    return judged


def by_the_estimator(study, by, monkeypatch, tmp_path):
    seen = watching(monkeypatch)
    ct.OrdinalEmbedding(loss="ste", penalty=0, random_state=0, max_iter=1, validation=0.2, by=by).fit(study)
    return seen


def commanded(study, by, monkeypatch, tmp_path, *words):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(study, "study.csv")
    fitted, judged = [], []
    plain, margins = fixed_loss._held_out, cross_validation.margins

    def watched(inputs, *asked):
        fitted.append(inputs.answers)
        return plain(inputs, *asked)

    def judging(test, embedding):
        judged.append((fitted[-1], test))
        return margins(test, embedding)

    monkeypatch.setattr(fixed_loss, "_held_out", watched)
    monkeypatch.setattr(cross_validation, "margins", judging)
    monkeypatch.setattr("closerthan.evaluate.held_out.margins", judging)
    done = CliRunner().invoke(app, [words[0], "study.csv", *words[1:], "--by", by, "--epochs", "1"])
    assert done.exit_code == 0, done.output
    return [(train, test) for train, test in judged if len(test) < len(study)]


def by_the_second_fit(study, by, monkeypatch, tmp_path):
    return commanded(study, by, monkeypatch, tmp_path, "fit", "--no-report")


def by_dims(study, by, monkeypatch, tmp_path):
    return commanded(study, by, monkeypatch, tmp_path, "dims", "--most", "2", "--folds", "3", "--repeats", "1")


def by_compare(study, by, monkeypatch, tmp_path):
    return commanded(study, by, monkeypatch, tmp_path, "compare", "--folds", "2", "--repeats", "1")


PLACES = (
    by_folds, by_split, by_the_splitter, by_groups_of_the_splitter, by_the_race, by_a_share_for_validation, by_auto,
    by_the_estimator, by_the_second_fit, by_dims, by_compare,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")
@pytest.mark.parametrize("by", ["answers", "people"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_unit_is_on_both_sides(place, by, study, monkeypatch, tmp_path):
    parts = place(study, by, monkeypatch, tmp_path)
    assert parts
    for train, test in parts:
        assert_apart(train, test, by)


@pytest.mark.slow
def test_single_comparisons_claim_too_low_an_error_and_too_many_dimensions():
    """With screens of 12 objects; the true error is measured on new screens."""
    study, new = screens(80, 1, every=10**6), screens(400, 2, every=10**6)
    sizes = (1, 2, 3, 5, 8)
    scores = {
        by: [cross_validate(study, size, by=by, loss="ste", penalty=0) for size in sizes]
        for by in ("comparisons", "answers")
    }
    true = ct.triplet_error(new, ct.embed(study, 8, loss="ste", penalty=0, seed=0).embedding)
    claimed, honest = (scores[by][-1].mean for by in ("comparisons", "answers"))
    assert claimed < true - 0.15
    assert abs(honest - true) < 0.05
    eight_instead_of_two = {by: gain(scores[by][1], scores[by][4]) for by in scores}
    assert eight_instead_of_two["comparisons"].is_significant
    assert not eight_instead_of_two["answers"].is_significant


class TestCarriedAlong:
    def make(self, **options):
        return ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 1, 3], [3, 1, 0]], **options)

    def test_labels_of_any_kind_become_numbers(self):
        for labels in (
            ["b", "b", "a", "a"],
            np.array([7, 7, -1, -1]),
            [(1, 2), (1, 2), 3.5, 3.5],
            [2.0, 2.0, 1.0, 1.0],
        ):
            made = self.make(answers=labels)
            assert made.answers.tolist() == [0, 0, 1, 1]
            assert (made.answers.dtype, made.answers.flags.writeable, made.n_answers) == (np.int32, False, 2)

    def test_people_are_named_in_order(self):
        made = self.make(people=[10, 9, 9, 10])
        assert (made.people.tolist(), made.person_names, made.n_people) == ([1, 0, 0, 1], ("9", "10"), 2)
        assert self.make(people=["w", 9.0, 9, "w"]).person_names == ("9", "w")

    def test_uninformative_labels_are_dropped(self):
        made = self.make(answers=[5, 3, 9, 1])
        assert (made.answers, made.people, made.n_answers, made.n_people) == (None, None, 4, None)

    def test_answers_of_different_people_are_different(self):
        assert self.make(answers=[1, 1, 1, 1], people=["a", "a", "b", "b"]).answers.tolist() == [0, 0, 1, 1]

    def test_they_go_along(self):
        made = self.make(answers=[1, 2, 2, 2], people=["b", "a", "a", "a"])
        for taken in (
            made.take(slice(1, None)),
            made.take(np.array([1, 2, 3])),
            made[np.array([False, True, True, True])],
        ):
            assert (taken.answers.tolist(), taken.people.tolist(), taken.n_answers) == ([1, 1, 1], [0, 0, 0], 1)
        again = pickle.loads(pickle.dumps(made))
        assert (again.answers.tolist(), again.people.tolist(), again.person_names) == (
            [0, 1, 1, 1],
            [1, 0, 0, 0],
            ("a", "b"),
        )
        assert not again.answers.flags.writeable
        assert not again.people.flags.writeable

    def test_dropped_rows_take_theirs_with_them(self):
        rows = [[0, 1, 2], [0, 0, 2], [1, 0, 3], [1, 3, 0], [2, 1, 0]]
        made = ct.Comparisons.of(
            rows, [1, 1, 0, 1, 1], answers=[4, 5, 5, 6, 6], people=list("abcdd"), ties="drop", self_pairs="drop"
        )
        assert made.answers.tolist() == [0, 1, 1]
        assert [made.person_names[person] for person in made.people] == ["a", "d", "d"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"answers": [1, 2, 3]}, r"answers have shape \(3,\), but there are 4"),
            ({"answers": [1, None, 3, 4]}, "row 1: the answer is missing"),
            ({"answers": np.array([1, 2, np.nan, 4])}, "row 2: the answer is missing"),
            ({"people": ["a", "b", "c", float("nan")]}, "row 3: the person is missing"),
            ({"people": [[1], 2, 3, 4]}, r"row 0: the person is \[1\]; labels are"),
        ],
    )
    def test_bad_labels_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            self.make(**options)


class TestGroups:
    def test_a_question_is_the_set_of_an_answers_objects(self):
        """However often each is mentioned; and questions that share some objects are not merged."""
        rows = [[0, 1, 2], [0, 1, 3], [3, 2, 0], [3, 2, 1], [0, 1, 2], [0, 1, 4]]
        group = ct.Comparisons.from_triplets(rows, answers=[0, 0, 1, 1, 2, 3]).groups()
        assert group[0] == group[1] == group[2] == group[3]
        assert len({group[0], group[4], group[5]}) == 3

    @pytest.mark.parametrize("n_objects", [10, 10**5, 10**6])
    def test_rows_alone_are_their_own_questions(self, kind, rng, n_objects):
        rows = rng.integers(4, size=(500, 3 if kind == "triplets" else 4)).astype(np.int32)
        rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, -2] != rows[:, -1]) & (rows[:, 0] != rows[:, -1])]
        rows = rows[[len(set(row)) >= 3 for row in rows.tolist()]]
        rows[rows == 3] = n_objects - 1
        group = ct.Comparisons(rows, n_objects).groups()
        same = {}
        for number, row in zip(group.tolist(), rows.tolist(), strict=True):
            assert same.setdefault(frozenset(row), number) == number
        assert sorted(same.values()) == list(range(len(same)))

    def test_one_row_per_answer_has_no_effect(self, answers):
        numbers = np.arange(len(answers))
        several = ct.Comparisons(answers.rows, answers.n_objects, answers=numbers.astype(np.int32))
        pairs = {*zip(answers.groups().tolist(), several.groups().tolist(), strict=True)}
        assert len(pairs) == len(set(answers.groups().tolist()))

    @pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
    def test_the_share_is_met(self, study, share):
        _, held_out = study.split(share, np.random.default_rng(1))
        assert abs(held_out.n_answers - share * study.n_answers) <= 2
        _, held_out = study.split(share, np.random.default_rng(1), by="people")
        assert held_out.n_people == round(share * 10)

    def test_a_question_put_to_everybody_does_not_swallow_the_share(self, rng):
        often = [[0, 1, 2]] * 900
        others = [[a, b, 9] for a in range(9) for b in range(9) if a != b]
        for _ in range(20):
            _, held_out = ct.Comparisons.from_triplets(often + others).split(0.05, rng)
            assert 45 <= len(held_out) <= 50


class TestErrors:
    def test_unknown_people_cannot_be_held_out(self, answers):
        for hold_out in (
            lambda: answers.split(0.5, np.random.default_rng(0), by="people"),
            lambda: next(folds(answers, 2, by="people")),
            lambda: ct.cross_validate(answers, by="people"),
            lambda: ct.embed(answers, validation=0.2, by="people"),
            lambda: ct.embed(answers, loss="auto", by="people"),
            lambda: effective_number(answers, by="people"),
        ):
            with pytest.raises(ValueError, match=r"it is not known who gave the answers; .*\"participant\""):
                hold_out()
        with pytest.raises(ValueError, match="pass groups="):
            next(ct.AnswerKFold(by="people").split(answers.rows))

    def test_by_is_known(self, answers):
        with pytest.raises(ValueError, match="by is 'rows'; it can be"):
            ct.embed(answers, by="rows")
        assert BY == ("auto", "answers", "blocks", "people", "comparisons")

    def test_a_split_with_an_empty_part_is_refused(self):
        one = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
        with pytest.raises(ValueError, match="all answers are about the same objects, so none can be held out"):
            one.split(0.5, np.random.default_rng(0))
        person = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 3]], people=["a", "a"])
        for hold_out in (
            lambda: person.split(0.5, np.random.default_rng(0), by="people"),
            lambda: next(folds(person, 2, by="people")),
            lambda: ct.learning_curve(person, by="people"),
        ):
            with pytest.raises(ValueError, match="all answers are from one person, so none can be held out; pass by="):
                hold_out()

    def test_the_command_line_says_which_column(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ct.files.write_comparisons(ct.datasets.eurodist().comparisons(), "cities.csv")
        for command in ("fit", "dims", "compare"):
            done = CliRunner().invoke(app, [command, "cities.csv", "--by", "people"])
            assert done.exit_code == 2
            assert "--column participant=NAME" in done.output


N_UNITS, EACH, ERROR = 80, 8, 0.2  # units such as questions or people, comparisons of each, and the true error


def wrong_together(rng, n_units=N_UNITS, each=EACH):
    """Whether each comparison is wrong: half of the time it is as the whole unit is, otherwise it is by itself."""
    whole = rng.random((n_units, 1)) < ERROR
    alone = rng.random((n_units, each)) < ERROR
    return np.where(rng.random((n_units, each)) < 0.5, whole, alone)


def repeated_questions(wrong):
    """Each unit is a question that several answers are about."""
    first = 3 * np.repeat(np.arange(len(wrong)), wrong.shape[1])
    return rows_about(first, wrong), {}


def comparisons_of_an_answer(wrong):
    """Each unit is one answer that makes several comparisons."""
    rows, _ = repeated_questions(wrong)
    return rows, {"answers": np.repeat(np.arange(len(wrong)), wrong.shape[1]).astype(np.int32)}


def answers_of_a_person(wrong):
    """Each unit is a person; all people are asked the same questions."""
    first = 3 * np.tile(np.arange(wrong.shape[1]), len(wrong))
    return rows_about(first, wrong), {"people": np.repeat(np.arange(len(wrong)), wrong.shape[1]).astype(np.int32)}


def rows_about(first, wrong):
    """Triplets of three objects each that the map ``LINE`` gets wrong or right."""
    return (first[:, None] + np.where(wrong.ravel()[:, None], [0, 2, 1], [0, 1, 2])).astype(np.int32)


LINE = np.arange(3.0 * N_UNITS)[:, None]
UNITS = {repeated_questions: "answers", comparisons_of_an_answer: "answers", answers_of_a_person: "people"}


def coverage(unit, rng, measure, n_runs=1000):
    """The fraction of the intervals that contain the true error."""
    hits = 0
    for _ in range(n_runs):
        wrong = wrong_together(rng)
        rows, known = unit(wrong)
        low, high = error_interval(wrong.mean(), measure(ct.Comparisons(rows, 3 * N_UNITS, **known)))
        hits += low <= ERROR <= high
    return hits / n_runs


class TestIntervals:
    @pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
    def test_a_95_per_cent_interval_covers_95_per_cent(self, unit, rng):
        covered = coverage(unit, rng, lambda comparisons: effective_number(comparisons, LINE, by=UNITS[unit]))
        assert covered == pytest.approx(0.95, abs=0.02)

    def test_an_interval_covers_as_much_where_no_question_is_repeated(self, rng):
        def single(wrong):
            return repeated_questions(wrong[:, :1])

        def coverage_of_singles():
            hits = 0
            for _ in range(1000):
                wrong = wrong_together(rng)
                rows, _ = single(wrong)
                part = ct.Comparisons(rows, 3 * N_UNITS)
                low, high = error_interval(wrong[:, 0].mean(), effective_number(part, LINE))
                hits += low <= ERROR <= high
            return hits / 1000

        assert coverage_of_singles() == pytest.approx(0.95, abs=0.025)

    @pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
    def test_an_interval_that_counts_comparisons_covers_too_little(self, unit, rng):
        assert coverage(unit, rng, len) < 0.85

    @pytest.mark.parametrize("unit", [repeated_questions, comparisons_of_an_answer], ids=lambda unit: unit.__name__)
    def test_an_interval_without_a_map_is_on_the_safe_side(self, unit, rng):
        assert coverage(unit, rng, lambda comparisons: comparisons) > 0.96

    def test_a_variance_from_few_questions_widens_the_interval_by_students_t(self):
        """With n groups the half-width is that of Student's t with n - 1 degrees of freedom: Korn and Graubard 1998."""
        wrong = np.array(
            [[True] * 4, [True, False, False, False], [False] * 4, [False] * 4, [True, True] + [False] * 2]
        )
        group = np.repeat(np.arange(5), 4)
        error, per_question = wrong.mean(), wrong.mean(axis=1)
        variance = per_question.var(ddof=1) / 5
        number = clustered_number(wrong.ravel(), group)
        half_of_t = stats.t.ppf(0.975, 4) * np.sqrt(variance)
        assert stats.norm.ppf(0.975) * np.sqrt(error * (1 - error) / number) == pytest.approx(half_of_t)

    def test_an_error_by_few_people_is_covered_too(self, rng):
        """Five people: without Student's t the interval would cover 89 %."""
        hits = 0
        for _ in range(2000):
            rate = rng.beta(20, 20, size=(5, 1))  # near one half, where the interval is symmetric
            wrong = rng.random((5, 200)) < rate
            number = clustered_number(wrong.ravel(), np.repeat(np.arange(5), 200))
            low, high = error_interval(wrong.mean(), number)
            hits += low <= 0.5 <= high
        assert 0.93 < hits / 2000 < 0.98

    def test_the_number_lies_between_questions_and_comparisons(self, study):
        x = ct.embed(study, seed=0).embedding
        n_questions = len(questions(study))
        assert n_questions < study.n_answers
        assert 0.8 * n_questions < effective_number(study) <= n_questions
        assert effective_number(study) <= effective_number(study, x) <= len(study)
        assert effective_number(study, x, by="people") <= effective_number(study, x)
        assert effective_number(study, by="comparisons") == len(study)

    def test_questions_that_are_wrong_as_a_whole_count_once(self):
        wrong = np.repeat([[True], [False], [False], [False]] * 5, 2, axis=1)
        rows, _ = repeated_questions(wrong)
        assert 15 < effective_number(ct.Comparisons(rows, 60), LINE[:60]) <= 20


def test_a_grid_search_accepts_comparisons(study):
    search = GridSearchCV(
        ct.OrdinalEmbedding(loss="ste", penalty=0, random_state=0, max_iter=5),
        {"n_components": [1, 2]},
        cv=ct.AnswerKFold(3, by="people"),
    )
    scores = search.fit(study).cv_results_["mean_test_score"]
    for n_dims, score in zip([1, 2], scores, strict=True):
        expected = cross_validate(
            study, n_dims, n_folds=3, epochs=5, by="people", loss="ste", penalty=0
        ).held_out.mean()
        assert score == pytest.approx(1 - expected)


def test_the_same_seed_holds_out_the_same(study):
    for by in set(BY) - {"blocks"}:  # which this study does not have
        one, same = (ct.embed(study, seed=5, validation=0.3, by=by, epochs=3).embedding for _ in range(2))
        assert np.array_equal(one, same)


def test_a_checkpoint_of_another_way_to_hold_out_is_refused(study, tmp_path):
    ct.embed(study, seed=0, epochs=2, validation=0.2, checkpoint=tmp_path / "fit.npz")
    with pytest.raises(ValueError, match="by was auto and is people"):
        ct.embed(study, seed=0, epochs=2, validation=0.2, by="people", checkpoint=tmp_path / "fit.npz", resume=True)


def test_faces_by_people(data_folder):
    """39 people and 36 faces: people see faces alike, but not quite."""
    file = data_folder / "cfd36_people.csv"
    if not file.exists():
        pytest.skip(f"there is no {file.name}")
    columns = {"anchor": "head", "near": "winner", "far": "loser", "left": None, "right": None, "split": None}
    faces = ct.files.read_answers(file, columns=columns, self_pairs="drop").comparisons
    assert (faces.n_people, faces.answers) == (39, None)
    for by in ("answers", "people"):
        train, test = faces.split(0.2, np.random.default_rng(0), by=by)
        assert ct.triplet_error(test, ct.embed(train, 4, seed=0).embedding) < 0.35
    assert test.n_people == 8


def test_groups_may_be_fractional_numbers():
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    groups = np.tile([0.1, 0.2, 0.3], 100)
    for train, test in ct.AnswerKFold(n_splits=3, by="people").split(data.train.rows, groups=groups):
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="row 1: a group is NaN"):
        list(ct.AnswerKFold(n_splits=2).split(data.train.rows[:3], groups=[0.1, np.nan, 0.3]))
