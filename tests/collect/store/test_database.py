import sqlite3
import subprocess
import sys

import pytest
from paths import ROOT
from studies import KEY, answer_all, interview_of, joined

from closerthan.collect.store.database import FILE, Store


def test_a_failed_transaction_is_rolled_back(tmp_path):
    with Store(tmp_path / FILE) as store:
        with pytest.raises(sqlite3.IntegrityError), store.writing():
            store.rows(
                "INSERT INTO objects (number, name) VALUES (0, 'ant'), (1, 'bee') RETURNING number"
            ) and store.insert("objects", number=0, name="cat")
        assert store.value("SELECT count(*) FROM objects") == 0


def test_the_database_is_configured_for_durability(tmp_path):
    with Store(tmp_path / FILE) as store:
        assert store.value("PRAGMA journal_mode") == "wal"
        assert store.value("PRAGMA synchronous") == 2  # FULL
        assert store.value("PRAGMA foreign_keys") == 1
        assert store.value("PRAGMA busy_timeout") >= 5000
        assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_names_keep_their_numbers_and_removed_objects_are_not_shown(tmp_path):
    with Store(tmp_path / FILE) as store:
        store.name_objects(["ant", "bee", "cat"])
        assert store.name_objects(["cat", "dog", "ant"]) == {"cat": 2, "dog": 3, "ant": 0}
        assert [row["name"] for row in store.rows("SELECT name FROM objects WHERE NOT shown")] == ["bee"]


def test_a_file_in_use_can_be_backed_up(tmp_path):
    interview, store = interview_of(tmp_path)
    joined(interview)
    answer_all(interview)
    with Store(tmp_path / FILE) as reader:
        reader.backup(tmp_path / "copy.sqlite")
    store.close()
    with Store(tmp_path / "copy.sqlite") as copy:
        assert copy.value("SELECT count(*) FROM answers") == 22
    assert not list(tmp_path.glob("copy.sqlite.*"))


_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from studies import KEY, interview_of, joined
interview, store = interview_of(Path(sys.argv[1]))
state = joined(interview)
for _ in range(7):
    state = interview.answer(KEY, state["questions"][0]["id"], 1, 300)
print(state["questions"][0]["id"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_acknowledged_answers_survive_kill_9_and_the_participant_continues(tmp_path):
    command = [sys.executable, "-c", _KILLED, str(tmp_path), str(ROOT / "tests")]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    interview, store = interview_of(tmp_path)
    assert store.value("SELECT count(*) FROM answers") == 7
    assert interview.state(KEY)["questions"][0]["id"] == killed.stdout.strip()
    store.close()


def test_a_damaged_file_is_reported_and_not_backed_up(tmp_path):
    interview, store = interview_of(tmp_path, number=5)
    joined(interview)
    answer_all(interview)
    store.tidy()
    store.close()
    content = bytearray((tmp_path / FILE).read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # all but the first page, which identifies the file
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(ValueError, match="it is damaged: keep a copy"), Store(tmp_path / FILE) as store:
        store.value("SELECT count(*) FROM answers")
    with pytest.raises(ValueError, match="it is damaged: keep a copy"), Store(tmp_path / FILE) as store:
        store.backup(tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def test_a_file_that_cannot_be_opened_is_reported(tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(ValueError, match=r"answers\.sqlite cannot be used: .*; it must be a file"):
        Store(tmp_path / FILE)
