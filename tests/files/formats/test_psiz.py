"""Observations saved by psiz as HDF5."""

import numpy as np
import pytest

from closerthan.files import read_answers
from closerthan.files.formats.binary.hdf5 import datasets

h5py = pytest.importorskip("h5py")

SHOWN = np.array([[0, 5, 3, 1, 2], [4, 1, 0, 2, -1], [2, 3, 4, 5, 0]])
TRIALS = {
    "stimulus_set": SHOWN,
    "n_select": np.array([2, 1, 2]),
    "is_ranked": np.array([True, True, False]),
    "agent_id": np.array([7, 8, 7]),
    "rt_ms": np.array([900.0, 1500.0, 3000.0]),
    "weight": np.ones(3),
    "trial_type": np.zeros(3, int),
}


@pytest.fixture(autouse=True)
def _read_here(monkeypatch):
    """Read files in this process, because starting another one takes longer than the rest of a test."""
    monkeypatch.setattr("sys.executable", "")


@pytest.fixture
def saved(tmp_path):
    def save(**changed):
        with h5py.File(tmp_path / "obs.hdf5", "w") as file:
            for name, value in {**TRIALS, **changed}.items():
                if value is not None:
                    file[name] = value
        return tmp_path / "obs.hdf5"

    return save


def test_chosen_objects_are_nearest_in_the_order_of_their_ranks(saved):
    answers = read_answers(saved())
    comparisons = answers.comparisons
    assert comparisons.rows.tolist() == [
        [0, 5, 3], [0, 5, 1], [0, 5, 2], [0, 3, 1], [0, 3, 2],
        [4, 1, 0], [4, 1, 2],
        [2, 3, 5], [2, 3, 0], [2, 4, 5], [2, 4, 0],
    ]  # fmt: skip
    assert (comparisons.n_answers, comparisons.weights) == (3, None)
    assert comparisons.answers.tolist() == [0] * 5 + [1] * 2 + [2] * 4
    assert answers.participants.tolist() == [7] * 5 + [8] * 2 + [7] * 4
    assert comparisons.times.tolist() == [0.9] * 5 + [1.5] * 2 + [3.0] * 4
    assert "HDF5, observations of psiz" in str(answers.summary)
    assert "they are 3 answers" in str(answers.summary)


def test_a_file_is_read_in_a_separate_process(saved, monkeypatch):
    monkeypatch.undo()
    assert len(read_answers(saved()).comparisons) == 11


def test_default_values_of_psiz_are_not_read_as_data(saved):
    comparisons = read_answers(saved(agent_id=np.zeros(3, int), rt_ms=-np.ones(3))).comparisons
    assert (comparisons.people, comparisons.times) == (None, None)
    by_session = read_answers(saved(agent_id=None, session_id=np.array([0, 1, 1])))
    assert by_session.summary.n_participants == 2


def test_with_mask_zero_objects_are_numbered_from_1(saved):
    comparisons = read_answers(saved(stimulus_set=SHOWN + 1, mask_zero=True)).comparisons
    assert comparisons.names == ("1", "2", "3", "4", "5", "6")
    assert comparisons.rows[5].tolist() == [4, 1, 0]


DATASET = dict.fromkeys(TRIALS) | {
    "class_name": "TrialDataset",
    "psiz_version": "0.8.0",
    "content/class_name": "RankSimilarity",
    # Two sequences of two trials; the last trial is padding.
    "content/stimulus_set": np.array([[[1, 4, 2, 6, 3], [5, 1, 2, 3, 0]], [[3, 6, 1, 4, 5], [0, 0, 0, 0, 0]]]),
    "content/n_select": np.array([[2, 1], [1, 0]]),
    "outcome/class_name": "SparseCategorical",
    "outcome/index": np.array([[7, 1], [0, 0]]),  # of 1: the third, then the second; of 5: the second; of 3: the first
    "outcome/depth": 12,
    "weight": np.array([[1.0, 1.0], [1.0, 0.0]]),
}


def test_the_outcome_of_a_trial_dataset_determines_the_choice(saved):
    answers = read_answers(saved(**DATASET))
    called = [[int(answers.comparisons.names[one]) for one in row] for row in answers.comparisons.rows.tolist()]
    assert called == [
        [1, 6, 2], [1, 6, 4], [1, 6, 3], [1, 2, 4], [1, 2, 3],
        [5, 2, 1], [5, 2, 3],
        [3, 6, 1], [3, 6, 4], [3, 6, 5],
    ]  # fmt: skip
    assert answers.comparisons.n_answers == 3
    assert answers.comparisons.people is None
    grouped = {**DATASET, "groups/participant": np.array([[[4], [4]], [[9], [0]]])}
    assert read_answers(saved(**grouped)).participants.tolist() == [4] * 7 + [9] * 3
    unnamed = {**DATASET, "groups": np.zeros((2, 2, 1))}  # as in older versions
    assert len(read_answers(saved(**unnamed)).comparisons) == 10


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"content/class_name": "RateSimilarity"}, "trials of psiz of type RateSimilarity"),
        ({"outcome/class_name": "Continuous"}, "without answers: their outcome is Continuous"),
        ({"outcome/index": None, "outcome/class_name": None}, "without answers: their outcome is None"),
        ({"outcome/index": np.array([[12, 1], [0, 0]])}, "trial 0: the outcome is number 12 of the rankings of 2 of 4"),
        ({"outcome/index": np.array([1, 2])}, "index has 2 values; expected a finite number for each of 4 trials"),
        ({"content/stimulus_set": np.ones((2, 2))}, r"stimulus_set has shape \(2, 2\)"),
    ],
)
def test_a_trial_dataset_without_comparisons_is_an_error(saved, changed, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(saved(**DATASET | changed))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"stimulus_set": None}, r"holds agent_id \(3,\), .* those that psiz saves as RankObservations"),
        ({"stimulus_set": SHOWN[:, 0]}, "holds .*stimulus_set"),
        ({"n_select": np.array([2, 3, 2])}, "trial 1: 3 of 3 objects are chosen; expected a query"),
        ({"n_select": np.array([2, 1])}, "n_select has 2 values; expected a finite number for each of 3 trials"),
        ({"rt_ms": np.array([1.0, np.nan, 2.0])}, "rt_ms has 3 values; expected a finite number"),
        ({"rating": np.ones(3)}, "psiz ratings, which are not comparisons"),
        ({"stimulus_set": SHOWN - 6}, "trial 0: 2 of 0 objects are chosen"),
    ],
)
def test_other_content_is_an_error_of_one_sentence(saved, changed, problem):
    with pytest.raises(ValueError, match=rf"obs\.hdf5.*{problem}"):
        read_answers(saved(**changed))


def test_a_dataset_that_was_never_written_allocates_no_memory(tmp_path):
    for name in ("a.hdf5", "a.mat"):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("stimulus_set", (1 << 33, 9), "i4", chunks=(1 << 10, 9))
        with pytest.raises(
            ValueError, match=rf"{name}.*'stimulus_set': it decompresses to [\d,]+ bytes, more than 200"
        ):
            read_answers(tmp_path / name)


def test_links_to_other_files_are_refused(tmp_path, saved):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["stimulus_set"] = h5py.ExternalLink(str(saved()), "/stimulus_set")
    with pytest.raises(ValueError, match="other files are not read"):
        read_answers(tmp_path / "a.h5")


def test_text_and_numbers_are_read_at_the_root_and_in_groups(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["class_name"] = "RankObservations"
        file["words"] = ["ant", "bee"]
        file["group/inner"] = [1]
    arrays = datasets(tmp_path / "a.h5")
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "class_name": "RankObservations",
        "words": ["ant", "bee"],
        "group/inner": [1],
    }
