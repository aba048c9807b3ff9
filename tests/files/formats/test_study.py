"""The folder of a study, which is read like the export of its answers."""

import json
import shutil
import sqlite3

import numpy as np
import pytest
from studies import KEY, answer_all, answered_study, closer_by_number, interview_of, joined, study_folder

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import answer_lines
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.store.participants import exclude
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.files import read_answers


@pytest.fixture
def study(tmp_path):
    """A folder with the database of a study that has an excluded participant and a pilot, and an export."""
    described, store = answered_study(tmp_path, n_people=4)
    interview, other = interview_of(tmp_path, recruiter=RECRUITERS["prolific"])
    access = Access(tmp_path)
    interview._key = access.key
    joined(interview, "p" * 32, pilot=pilot_ticket(access.key))
    answer_all(interview, "p" * 32, choose=closer_by_number)
    exclude(store, access, "pid-1", "asleep")
    export = tmp_path / "export.csv"
    export.write_text("".join(answer_lines(store, described, access)))
    store.close()
    other.close()
    return tmp_path


def test_the_folder_of_a_study_holds_the_same_answers_as_its_export(study):
    folder, export = read_answers(study), read_answers(study / "export.csv")
    assert folder.comparisons.names == export.comparisons.names
    for part in ("rows", "people", "times", "sides", "random"):
        np.testing.assert_array_equal(getattr(folder.comparisons, part), getattr(export.comparisons, part))
    assert folder.comparisons.person_names == export.comparisons.person_names
    assert (folder.checks, folder.summary.dropped) == (export.checks, export.summary.dropped)
    assert len(set(folder.participants.tolist())) == 3  # four people, of whom one is excluded; the pilot is nobody


def test_a_note_names_the_dimensions_of_the_live_map_if_they_are_not_the_usual_ones(study):
    for n_dims in (2, 3):
        with Store(study / FILE) as store, store.writing():
            store.insert("maps", version=n_dims, made_at=0.0, answers=1, places=json.dumps([[0.0] * n_dims]))
        notes = [str(note) for note in read_answers(study).summary.notes]
        assert ("the live map of the study has 3 dimensions" in " ".join(notes)) == (n_dims == 3)


def test_reading_a_study_changes_no_file(study):
    before = (study / FILE).read_bytes()
    read_answers(study)
    assert (study / FILE).read_bytes() == before


def test_a_study_can_be_read_while_it_is_used(study):
    interview, store = interview_of(study, recruiter=RECRUITERS["prolific"])
    with store.writing():
        assert len(read_answers(study).comparisons) == 54
    joined(interview, KEY + "new", PROLIFIC_PID="new")
    answer_all(interview, KEY + "new", choose=closer_by_number)
    assert len(read_answers(study).comparisons) > 54
    store.close()


def test_a_backup_without_the_key_has_numbers_for_people(study):
    (study / "other").mkdir()
    copy = shutil.copy(study / FILE, study / "other" / "backup.sqlite")
    answers = read_answers(copy)
    assert sorted(set(answers.participants.tolist())) == [1, 3, 4]
    assert any("named by their numbers" in note for note in answers.summary.notes)


def test_a_study_without_answers_is_refused_in_words(tmp_path):
    folder = study_folder(tmp_path)
    with pytest.raises(ValueError, match="closerthan collect serve"):
        read_answers(folder)
    interview_of(folder)[1].close()
    with pytest.raises(ValueError, match="no answers that can be fitted"):
        read_answers(folder)


def test_another_database_is_refused_in_words(tmp_path):
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE things (name)").connection.close()
    (tmp_path / "damaged.sqlite").write_bytes(b"not a database at all" * 100)
    for name in ("other", "damaged"):
        with pytest.raises(ValueError, match="not the database of a study"):
            read_answers(tmp_path / f"{name}.sqlite")
