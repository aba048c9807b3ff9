"""The tables of a study's database, and the migration of older files."""

import sqlite3
from collections.abc import Sequence

__all__ = ["APPLICATION", "MIGRATIONS", "NewerFileError", "migrate"]

APPLICATION = 0x436C5468  # "ClTh" marks the file as a database of closerthan

# One script per version: version n of a file is the result of the first n scripts. Statements that have been released
# are never changed.
_FIRST = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE objects (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shown INTEGER NOT NULL DEFAULT 1);
CREATE TABLE consents (version TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE participants (
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- numbers are never reused
    state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'declined')),
    consent TEXT REFERENCES consents,
    joined_at REAL NOT NULL,
    ended_at REAL,
    plan TEXT NOT NULL DEFAULT ''              -- the kind of question at each place
);
-- The recruiter's ids, in a table of their own, so that they can be left out or deleted.
CREATE TABLE identities (
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
    role TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (participant, role)
);
CREATE UNIQUE INDEX person ON identities (value) WHERE role = 'person';
CREATE TABLE keys (
    hash BLOB PRIMARY KEY,
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE
) WITHOUT ROWID;
-- closer: anchor, left option, right option. odd: from left to right.
CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
    place INTEGER NOT NULL,                    -- questions count from 1; practice questions have places up to 0
    kind TEXT NOT NULL CHECK (kind IN ('practice', 'chosen', 'random', 'shared', 'repeat', 'check')),
    first INTEGER NOT NULL REFERENCES objects,
    second INTEGER NOT NULL REFERENCES objects,
    third INTEGER NOT NULL REFERENCES objects,
    content TEXT NOT NULL,                     -- identifies the question, whatever the order of its options
    repeats TEXT REFERENCES questions ON DELETE CASCADE,
    score REAL,
    map INTEGER,
    probability REAL,
    asked_at REAL NOT NULL,
    UNIQUE (participant, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX once ON questions (participant, content) WHERE kind IN ('chosen', 'random', 'shared');
CREATE INDEX repeated ON questions (repeats) WHERE repeats IS NOT NULL;
CREATE TABLE answers (
    question TEXT PRIMARY KEY REFERENCES questions ON DELETE CASCADE,
    said TEXT NOT NULL CHECK (said IN ('choice', 'skip', 'tie')),
    choice INTEGER CHECK (choice BETWEEN 0 AND 2),
    rt_ms INTEGER,
    at REAL NOT NULL,
    CHECK ((said = 'choice') = (choice IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX answered_at ON answers (at);
CREATE TABLE shared (
    place INTEGER PRIMARY KEY,
    first INTEGER NOT NULL REFERENCES objects,
    second INTEGER NOT NULL REFERENCES objects,
    third INTEGER NOT NULL REFERENCES objects
);
CREATE TABLE queue (
    number INTEGER PRIMARY KEY,
    first INTEGER NOT NULL REFERENCES objects,
    second INTEGER NOT NULL REFERENCES objects,
    third INTEGER NOT NULL REFERENCES objects,
    score REAL,
    probability REAL,
    map INTEGER NOT NULL
);
CREATE TABLE maps (
    version INTEGER PRIMARY KEY,
    made_at REAL NOT NULL,
    answers INTEGER NOT NULL,                  -- number of answers that the map was fitted to
    places TEXT NOT NULL                       -- JSON: coordinates in the order of the object numbers
);
"""

_JUDGED_MAPS = """
-- The assessment of a map as JSON: the spread of each object, and the texts for the researcher.
ALTER TABLE maps ADD COLUMN judgement TEXT;
"""

MIGRATIONS = (_FIRST, _JUDGED_MAPS)


class NewerFileError(ValueError):
    """The file was written by a newer version of the program."""


def migrate(connection: sqlite3.Connection, path: object, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Migrate a file to the current version in one transaction.

    Examples
    --------
    >>> from contextlib import closing
    >>> with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
    ...     migrate(connection, "answers.sqlite")
    ...     connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    True
    """
    if _version(connection, path, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # The version is read again, because another process may have migrated the file in the meantime.
        version = _version(connection, path, len(migrations))
        for number, script in enumerate(migrations[version:], version + 1):
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: object, newest: int) -> int:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:  # locked or unreadable, but possibly a study
        raise
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"{path} is not a study's database ({error}); move it elsewhere, or restore a backup"
        ) from None
    if version > newest:
        raise NewerFileError(
            f"{path} has version {version}, but this program supports only versions up to {newest}; "
            "use the newer closerthan that wrote it: pip install --upgrade closerthan"
        )
    if tables and application != APPLICATION:
        raise ValueError(f"{path} is a database of another program; move it elsewhere")
    return int(version)


def _statements(script: str) -> list[str]:
    """Split a script into statements, because ``executescript`` would commit the transaction first."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
