"""Participants by name: leave their answers out, count them again, or delete them."""

import time

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import Store
from closerthan.collect.store.keyed_codes import is_withdrawal_code

__all__ = ["COUNTED", "exclude", "forget", "include", "n_recounts"]

COUNTED = """participant IN (
    SELECT number FROM participants WHERE NOT pilot AND number NOT IN (SELECT participant FROM exclusions)
)"""
"""An SQL condition: the answers of the participant count. Those of pilots and of excluded participants do not."""


def exclude(store: Store, access: Access, person: str, reason: str) -> str:
    """Leave a person's answers out of the map and of the choice of questions, and return the person's pseudonym.

    The answers are kept, and exports mark them. Excluding the same person again replaces the reason.
    """
    if not reason.strip():
        raise ValueError(
            "the reason for an exclusion is empty; state it in a few words, because a paper must report it"
        )
    number, pseudonym = _find(store, access, person)
    with store.writing():
        store.change("INSERT OR REPLACE INTO exclusions VALUES (?, ?, ?)", number, reason.strip(), time.time())
    return pseudonym


def include(store: Store, access: Access, person: str) -> str:
    """Count the answers of an excluded person again, and return the person's pseudonym."""
    number, pseudonym = _find(store, access, person)
    with store.writing():
        if not store.change("DELETE FROM exclusions WHERE participant = ?", number):
            raise ValueError(f"the answers of {person} already count; nothing has changed")
    return pseudonym


def forget(store: Store, access: Access, person: str) -> int:
    """Delete a person with all of their answers, and return the number of these answers."""
    number, _ = _find(store, access, person)
    with store.writing():
        answers = store.value(
            "SELECT count(*) FROM answers JOIN questions ON question = id WHERE participant = ?", number
        )
        store.change("DELETE FROM participants WHERE number = ?", number)
    store.tidy()
    return int(answers)


def n_recounts(store: Store) -> int:
    """Return how often people were excluded, included or deleted, by whatever process."""
    return int(store.value("SELECT value FROM about WHERE name = 'recounts'") or 0)


def _find(store: Store, access: Access, person: str) -> tuple[int, str]:
    """Return the number and the pseudonym of a person, given by recruiter's id, pseudonym or withdrawal code."""
    person, key = person.strip(), access.key
    rows = store.rows(
        """SELECT number, value AS person FROM participants
        LEFT JOIN identities ON participant = number AND role = 'person'"""
    )
    for row in rows:
        pseudonym = access.pseudonym(row["number"], row["person"])
        if person in (row["person"], pseudonym) or is_withdrawal_code(key, row["number"], person):
            return row["number"], pseudonym
    raise ValueError(
        f"there is no participant {person!r}; pass the recruiter's id, the name in the column participant of "
        "the exported answers, or the withdrawal code"
    )
