"""The tables of a study's database, and the migration of older files."""

import sqlite3
from collections.abc import Sequence

from closerthan.files.formats.study import APPLICATION

__all__ = ["MIGRATIONS", "NewerFileError", "migrate"]

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

_WIDER_QUESTIONS = """
-- Questions with more than three objects, and answers that pick several of them: `more` holds the further numbers,
-- separated by colons. Questions from the researcher's own list have the kind 'own', and an answer is 'fault' if a
-- stimulus could not be shown.
CREATE TABLE wider_questions (
    id TEXT PRIMARY KEY,
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
    place INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('practice', 'chosen', 'random', 'shared', 'repeat', 'check', 'own')),
    first INTEGER NOT NULL REFERENCES objects,
    second INTEGER NOT NULL REFERENCES objects,
    third INTEGER NOT NULL REFERENCES objects,
    content TEXT NOT NULL,
    repeats TEXT REFERENCES questions ON DELETE CASCADE,
    score REAL,
    map INTEGER,
    probability REAL,
    asked_at REAL NOT NULL,
    more TEXT NOT NULL DEFAULT '',
    UNIQUE (participant, place)
) WITHOUT ROWID;
INSERT INTO wider_questions (id, participant, place, kind, first, second, third, content, repeats, score, map,
    probability, asked_at)
    SELECT id, participant, place, kind, first, second, third, content, repeats, score, map, probability, asked_at
    FROM questions;
DROP TABLE questions;
ALTER TABLE wider_questions RENAME TO questions;
CREATE UNIQUE INDEX once ON questions (participant, content) WHERE kind IN ('chosen', 'random', 'shared', 'own');
CREATE INDEX repeated ON questions (repeats) WHERE repeats IS NOT NULL;
CREATE TABLE wider_answers (
    question TEXT PRIMARY KEY REFERENCES questions ON DELETE CASCADE,
    said TEXT NOT NULL CHECK (said IN ('choice', 'skip', 'tie', 'fault')),
    choice INTEGER CHECK (choice >= 0),
    rt_ms INTEGER,
    at REAL NOT NULL,
    more TEXT NOT NULL DEFAULT '',
    CHECK ((said = 'choice') = (choice IS NOT NULL))
) WITHOUT ROWID;
INSERT INTO wider_answers (question, said, choice, rt_ms, at) SELECT question, said, choice, rt_ms, at FROM answers;
DROP TABLE answers;
ALTER TABLE wider_answers RENAME TO answers;
CREATE INDEX answered_at ON answers (at);
ALTER TABLE shared ADD COLUMN more TEXT NOT NULL DEFAULT '';
ALTER TABLE queue ADD COLUMN more TEXT NOT NULL DEFAULT '';
"""

_RESEARCHERS_DECISIONS = """
-- The answers of a pilot never count. `condition` is the name of the experimental condition.
ALTER TABLE participants ADD COLUMN pilot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE participants ADD COLUMN condition TEXT NOT NULL DEFAULT '';
CREATE TABLE exclusions (
    participant INTEGER PRIMARY KEY REFERENCES participants ON DELETE CASCADE,
    reason TEXT NOT NULL,
    at REAL NOT NULL
);
-- Answers to the questionnaire, as JSON.
CREATE TABLE responses (
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
    item TEXT NOT NULL,
    value TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (participant, item)
) WITHOUT ROWID;
"""

_AGREEMENTS = """
-- Every version of the consent text to which a participant agreed. `consent` in `participants` is the latest.
CREATE TABLE agreements (
    participant INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
    version TEXT NOT NULL REFERENCES consents,
    at REAL NOT NULL,
    PRIMARY KEY (participant, version)
) WITHOUT ROWID;
INSERT INTO agreements SELECT number, consent, joined_at FROM participants WHERE consent IS NOT NULL;
"""

_FAULTS = """
-- The objects that could not be shown, for each answer 'fault'.
CREATE TABLE faults (
    question TEXT NOT NULL REFERENCES questions ON DELETE CASCADE,
    object INTEGER NOT NULL REFERENCES objects,
    PRIMARY KEY (question, object)
) WITHOUT ROWID;
"""

_TALLIES = """
-- Totals of the answers without those of pilots, kept by triggers, because counting a million answers takes seconds.
-- The triggers belong to `questions` and `answers`: a migration that replaces these tables has to create them again.
CREATE TABLE totals (
    kind TEXT NOT NULL,
    said TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (kind, said)
) WITHOUT ROWID;
CREATE TABLE minutes (                         -- answers in each minute since 1970
    minute INTEGER PRIMARY KEY,
    answers INTEGER NOT NULL,                  -- without practice and faults
    practice INTEGER NOT NULL
);
CREATE TABLE response_times (                  -- answers by response time
    hundredths INTEGER PRIMARY KEY,            -- of a second, rounded down
    number INTEGER NOT NULL
);
ALTER TABLE participants ADD COLUMN seen_at REAL NOT NULL DEFAULT 0;  -- when the latest question was asked
CREATE INDEX shared_questions ON questions (content, participant) WHERE kind = 'shared';
CREATE TABLE assessments (
    participant INTEGER PRIMARY KEY REFERENCES participants ON DELETE CASCADE,
    lapse REAL,
    verdict TEXT NOT NULL,
    reasons TEXT NOT NULL
);
INSERT INTO assessments
    SELECT number, json_extract(value, '$.lapse'), json_extract(value, '$.verdict'), json_extract(value, '$.reasons')
    FROM participants JOIN json_each((
        SELECT json_extract(judgement, '$.people') FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1
    )) ON CAST(key AS INTEGER) = number;
UPDATE maps SET judgement = json_remove(judgement, '$.people') WHERE judgement IS NOT NULL;
CREATE VIEW counted_answers AS
    SELECT participant, kind, said, CAST(at / 60 AS INTEGER) AS minute, min(rt_ms / 10, 6000) AS hundredths
    FROM questions JOIN answers ON question = id JOIN participants ON number = participant AND NOT pilot;
INSERT INTO totals SELECT kind, said, count(*) FROM counted_answers GROUP BY kind, said;
INSERT INTO minutes
    SELECT minute, sum(kind <> 'practice' AND said <> 'fault'), sum(kind = 'practice')
    FROM counted_answers GROUP BY minute;
INSERT INTO response_times
    SELECT hundredths, count(*) FROM counted_answers WHERE hundredths IS NOT NULL GROUP BY hundredths;
UPDATE participants
    SET seen_at = coalesce((SELECT max(asked_at) FROM questions WHERE participant = number), joined_at);
CREATE TRIGGER see_participant AFTER INSERT ON questions BEGIN
    UPDATE participants SET seen_at = NEW.asked_at WHERE number = NEW.participant;
END;
CREATE TRIGGER count_answer AFTER INSERT ON answers
WHEN (SELECT NOT pilot FROM questions JOIN participants ON number = participant WHERE id = NEW.question) BEGIN
    INSERT INTO totals SELECT kind, NEW.said, 1 FROM questions WHERE id = NEW.question
        ON CONFLICT (kind, said) DO UPDATE SET number = number + 1;
    INSERT INTO minutes
        SELECT CAST(NEW.at / 60 AS INTEGER), kind <> 'practice' AND NEW.said <> 'fault', kind = 'practice'
        FROM questions WHERE id = NEW.question
        ON CONFLICT (minute) DO UPDATE
        SET answers = answers + excluded.answers, practice = practice + excluded.practice;
    INSERT INTO response_times SELECT min(NEW.rt_ms / 10, 6000), 1 WHERE NEW.rt_ms IS NOT NULL
        ON CONFLICT (hundredths) DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER uncount_participant BEFORE DELETE ON participants BEGIN
    UPDATE totals SET number = number - (SELECT count(*) FROM counted_answers
        WHERE participant = OLD.number AND kind = totals.kind AND said = totals.said);
    UPDATE minutes SET
        answers = answers - (SELECT count(*) FROM counted_answers
            WHERE participant = OLD.number AND minute = minutes.minute AND kind <> 'practice' AND said <> 'fault'),
        practice = practice - (SELECT count(*) FROM counted_answers
            WHERE participant = OLD.number AND minute = minutes.minute AND kind = 'practice')
        WHERE minute IN (SELECT minute FROM counted_answers WHERE participant = OLD.number);
    UPDATE response_times SET number = number - (SELECT count(*) FROM counted_answers
            WHERE participant = OLD.number AND hundredths = response_times.hundredths)
        WHERE hundredths IN (SELECT hundredths FROM counted_answers WHERE participant = OLD.number);
END;
"""

_OWN_QUESTIONS = """
-- How often each question of the researcher's own list has been asked.
CREATE TABLE own_questions (content TEXT PRIMARY KEY, asked INTEGER NOT NULL) WITHOUT ROWID;
"""

_CONDITIONS = """
-- Each condition has shared questions, a queue and maps of its own.
CREATE TABLE shared_by_condition (
    condition TEXT NOT NULL,
    place INTEGER NOT NULL,
    first INTEGER NOT NULL REFERENCES objects,
    second INTEGER NOT NULL REFERENCES objects,
    third INTEGER NOT NULL REFERENCES objects,
    more TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (condition, place)
) WITHOUT ROWID;
INSERT INTO shared_by_condition SELECT '', place, first, second, third, more FROM shared;
DROP TABLE shared;
ALTER TABLE shared_by_condition RENAME TO shared;
ALTER TABLE queue ADD COLUMN condition TEXT NOT NULL DEFAULT '';
ALTER TABLE maps ADD COLUMN condition TEXT NOT NULL DEFAULT '';
"""

_RECOUNTS = """
-- How often people were excluded, included or deleted, which changes the answers that count. A running server then
-- refits the map.
CREATE TRIGGER exclude_participant AFTER INSERT ON exclusions BEGIN
    INSERT INTO about VALUES ('recounts', 1) ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE TRIGGER include_participant AFTER DELETE ON exclusions BEGIN
    INSERT INTO about VALUES ('recounts', 1) ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE TRIGGER delete_participant BEFORE DELETE ON participants
WHEN NOT OLD.pilot AND EXISTS (SELECT 1 FROM questions JOIN answers ON question = id WHERE participant = OLD.number)
BEGIN
    INSERT INTO about VALUES ('recounts', 1) ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
"""

MIGRATIONS = (
    _FIRST,
    _JUDGED_MAPS,
    _WIDER_QUESTIONS,
    _RESEARCHERS_DECISIONS,
    _AGREEMENTS,
    _FAULTS,
    _TALLIES,
    _OWN_QUESTIONS,
    _CONDITIONS,
    _RECOUNTS,
)


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
    connection.execute("PRAGMA foreign_keys = OFF")  # or else replacing a table would delete the rows that refer to it
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
        if "malformed" in str(error):  # a database, but damaged
            raise
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
