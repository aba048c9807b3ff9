import sqlite3

import pytest
from studies import answer_all, interview_of, joined

from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.schema import MIGRATIONS, NewerFileError, _statements


def test_an_older_file_is_migrated_with_its_answers(tmp_path):
    path = tmp_path / FILE
    interview, store = interview_of(tmp_path, number=5)
    joined(interview)
    answer_all(interview)
    store.close()
    # Write the same rows into the tables of the first version.
    old, path_of_old = sqlite3.connect(path), tmp_path / "old.sqlite"
    first = sqlite3.connect(path_of_old)
    for statement in _statements(MIGRATIONS[0]):
        first.execute(statement)
    for table in ("about", "objects", "consents", "participants", "keys", "questions", "answers", "shared"):
        columns = ", ".join(row[1] for row in first.execute(f"PRAGMA table_info({table})"))
        rows = old.execute(f"SELECT {columns} FROM {table}").fetchall()
        first.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows) if rows else None
    (application,) = old.execute("PRAGMA application_id").fetchone()
    first.execute("PRAGMA user_version = 1")
    first.execute(f"PRAGMA application_id = {application}")
    first.commit()
    first.close()
    old.close()
    with Store(path_of_old) as migrated:
        assert migrated.value("PRAGMA user_version") == len(MIGRATIONS) > 1
        assert migrated.value("SELECT count(*) FROM answers") == 7
        assert not migrated.rows("PRAGMA foreign_key_check")
        assert migrated.value("SELECT count(*) FROM answers JOIN questions ON question = id WHERE place > 0") == 5
        assert "judgement" in [row["name"] for row in migrated.rows("PRAGMA table_info(maps)")]


def test_a_failed_migration_leaves_the_file_unchanged(tmp_path):
    Store(tmp_path / FILE).close()
    with pytest.raises(sqlite3.OperationalError):
        Store(tmp_path / FILE, migrations=(*MIGRATIONS, "CREATE TABLE new (a);\nNONSENSE;\n"))
    file = sqlite3.connect(tmp_path / FILE)
    assert file.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert not file.execute("SELECT * FROM sqlite_master WHERE name = 'new'").fetchall()
    file.close()


def test_files_of_a_newer_version_or_of_another_program_are_refused(tmp_path):
    Store(tmp_path / FILE).close()
    file = sqlite3.connect(tmp_path / FILE)
    file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(NewerFileError, match=r"version 99.*pip install --upgrade"):
        Store(tmp_path / FILE)
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE things (a)")
    other.close()
    with pytest.raises(ValueError, match="another program"):
        Store(tmp_path / "other.sqlite")
    (tmp_path / "text.sqlite").write_text("no database, but long enough to look like one" * 40)
    with pytest.raises(ValueError, match="is not a study's database"):
        Store(tmp_path / "text.sqlite")
