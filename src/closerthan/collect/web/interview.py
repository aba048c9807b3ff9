"""The interview of a participant: joining, answering and the current state. The server checks every request."""

import hashlib
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from closerthan.collect.choosing.question_drawer import QuestionDrawer
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study
from closerthan.collect.study.stimuli import StimulusMessage

__all__ = ["Interview", "QuestionMessage", "Refused", "StateMessage"]

AHEAD = 2  # open questions per participant; the page preloads the pictures of the second one
_LONGEST_TIME = 7 * 24 * 3600 * 1000  # milliseconds; a page can stay open for days


class Refused(Exception):  # noqa: N818 - a refusal is not a program error
    """A request was refused, with an HTTP status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class QuestionMessage(TypedDict):
    """A question as the page receives it, without its kind and the names of its objects."""

    id: str
    anchor: StimulusMessage | None
    options: list[StimulusMessage]
    place: int
    of: int
    practice: bool


class StateMessage(TypedDict):
    """The state of a participant as the page receives it: the open questions, or how the interview ended."""

    stage: str
    questions: list[QuestionMessage]
    answered: NotRequired[int]
    code: NotRequired[str]
    redirect: NotRequired[str]


class Interview:
    """The interviews of all participants of a study, for use by one thread at a time.

    Parameters
    ----------
    study, store
        The study and the database for its answers.
    media_key
        The key of the hashes that serve as addresses of media files.
    clock, rng
        The source of time and randomness; by default those of the system.
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        media_key: bytes = b"",
        *,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self.study, self._store, self._clock = study, store, clock
        numbers = store.name_objects([stimulus.name for stimulus in study.objects])
        self._stimuli = {numbers[stimulus.name]: stimulus.message(media_key) for stimulus in study.objects}
        self._drawer = QuestionDrawer(study, store, list(numbers.values()), rng)
        with store.writing():
            check_kind(study, store)
            store.change("INSERT OR REPLACE INTO about VALUES ('kind', ?)", study.kind)
            store.change(
                "INSERT OR IGNORE INTO consents (version, text) VALUES (?, ?)", study.consent_version, study.consent
            )
            self._drawer.choose_shared()

    def join(self, key: str, consent: str, address: Mapping[str, str]) -> StateMessage:
        """Add a participant who gave consent, unless the key or the recruiter's id already belongs to one."""
        if self.study.recruiter.is_preview(address):
            raise Refused(403, "this is a preview; accept the task first")
        if consent != self.study.consent_version:
            raise Refused(409, "the consent text has changed; reload the page")
        identity = self.study.recruiter.identity(address)
        with self._store.writing():
            if self._find(key) is None:
                number = self._same_person(identity) or self._add(identity)
                self._store.insert("keys", hash=_hash(key), participant=number)
            return self._state(key)

    def decline(self, key: str) -> StateMessage:
        """Count a person who did not give consent, without storing anything else."""
        with self._store.writing():
            participant = self._find(key)
            if participant is None:
                number = self._store.insert("participants", state="declined", joined_at=self._clock())
                self._store.insert("keys", hash=_hash(key), participant=number)
            elif participant["state"] != "declined":
                raise Refused(409, "this participant has already given consent")
            return self._state(key)

    def state(self, key: str) -> StateMessage:
        """Return the stage of a participant, with the next questions or the completion code."""
        with self._store.writing():
            return self._state(key)

    def answer(self, key: str, question: Any, choice: Any, rt_ms: Any) -> StateMessage:
        """Store an answer and return the new state. When this method returns, the answer is on disk."""
        response, option = self._parsed_choice(choice)
        if rt_ms is not None and (type(rt_ms) is not int or not 0 <= rt_ms <= _LONGEST_TIME):
            raise Refused(422, f"rt_ms is {rt_ms!r}; it must be a whole number of milliseconds, at least 0")
        if not isinstance(question, str):
            raise Refused(422, "question must be the id of a question")
        with self._store.writing():
            participant = self._participant(key)
            row = self._store.row("SELECT participant, place FROM questions WHERE id = ?", question)
            if row is None:
                raise Refused(404, "this question does not exist")
            if row["participant"] != participant["number"]:
                raise Refused(403, "this question belongs to another participant")
            earlier = self._store.row("SELECT said, choice FROM answers WHERE question = ?", question)
            if earlier is not None:
                if (earlier["said"], earlier["choice"]) != (response, option):
                    raise Refused(409, "this question already has a different answer")
                return self._state(key)
            if participant["state"] != "running":
                raise Refused(410, "this participant has finished")
            if row["place"] != self._open(participant["number"])[0]["place"]:
                raise Refused(409, "an earlier question is still open")
            self._store.insert(
                "answers", question=question, said=response, choice=option, rt_ms=rt_ms, at=self._clock()
            )
            return self._state(key)

    def _parsed_choice(self, choice: Any) -> tuple[str, int | None]:
        study = self.study
        if type(choice) is int and 0 <= choice < study.options:
            return "choice", choice
        if (choice == "skip" and study.skip) or (choice == "tie" and study.tie):
            return choice, None
        allowed = [*range(study.options), *(word for word in ("skip", "tie") if getattr(study, word))]
        raise Refused(422, f"choice is {str(choice)[:40]!r}; it must be one of {', '.join(map(str, allowed))}")

    def _find(self, key: str) -> sqlite3.Row | None:
        return self._store.row(
            "SELECT participants.* FROM keys JOIN participants ON participant = number WHERE hash = ?", _hash(key)
        )

    def _participant(self, key: str) -> sqlite3.Row:
        participant = self._find(key)
        if participant is None:
            raise Refused(401, "no participant has this key")
        return participant

    def _same_person(self, identity: Mapping[str, str]) -> int | None:
        number: int | None = self._store.value(
            "SELECT participant FROM identities WHERE role = 'person' AND value = ?", identity.get("person")
        )
        return number

    def _add(self, identity: Mapping[str, str]) -> int:
        number = self._store.insert(
            "participants",
            state="running",
            consent=self.study.consent_version,
            joined_at=self._clock(),
            plan=self._drawer.plan(),
        )
        for role, value in identity.items():
            self._store.insert("identities", participant=number, role=role, value=value)
        return number

    def _open(self, participant: int) -> Sequence[sqlite3.Row]:
        return self._store.rows(
            """SELECT questions.* FROM questions LEFT JOIN answers ON question = id
            WHERE participant = ? AND question IS NULL ORDER BY place""",
            participant,
        )

    def _state(self, key: str) -> StateMessage:
        participant = self._participant(key)
        number, plan = participant["number"], participant["plan"]
        if participant["state"] == "running":
            last = self._store.value("SELECT max(place) FROM questions WHERE participant = ?", number)
            last = -self.study.practice if last is None else last
            n_open = len(self._open(number))
            # Questions are drawn as late as possible, because repeats refer to earlier answers.
            while last < len(plan) and n_open < AHEAD:
                last, n_open = last + 1, n_open + 1
                self._drawer.assign(number, last, plan, self._clock())
            waiting = self._open(number)
            if waiting:
                return {
                    "stage": "questions",
                    "answered": last + self.study.practice - len(waiting),
                    "questions": [self._message(row, len(plan)) for row in waiting],
                }
            self._finish(number)
            participant = self._participant(key)
        code, redirect = self._ending(number, participant["state"])
        return {"stage": participant["state"], "questions": [], "code": code, "redirect": redirect}

    def _message(self, row: sqlite3.Row, number: int) -> QuestionMessage:
        stimuli = [self._stimuli.get(row[column]) or _REMOVED for column in ("first", "second", "third")]
        practice = row["place"] < 1
        return {
            "id": row["id"],
            "anchor": stimuli[0] if self.study.kind == "closer" else None,
            "options": stimuli[1:] if self.study.kind == "closer" else stimuli,
            "place": row["place"] + self.study.practice * practice,
            "of": self.study.practice if practice else number,
            "practice": practice,
        }

    def _finish(self, participant: int) -> None:
        wrong, checks = 0, 0
        rows = self._store.rows(
            """SELECT first, second, third, choice FROM questions JOIN answers ON question = id
            WHERE participant = ? AND kind = 'check'""",
            participant,
        )
        for row in rows:
            checks += 1
            wrong += not passed(self.study.kind, (row["first"], row["second"], row["third"]), row["choice"])
        state = "failed" if checks and wrong / checks > self.study.checks_wrong else "complete"
        self._store.change(
            "UPDATE participants SET state = ?, ended_at = ? WHERE number = ?", state, self._clock(), participant
        )

    def _ending(self, participant: int, state: str) -> tuple[str, str]:
        """Return the completion code and the address of the redirect."""
        code = self.study.ending(state)
        rows = self._store.rows("SELECT role, value FROM identities WHERE participant = ?", participant)
        redirect = self.study.recruiter.way_back(code, {row["role"]: row["value"] for row in rows})
        return code, redirect


# Replaces an object that was removed from the study while a question about it was open.
_REMOVED: StimulusMessage = {"form": "text", "text": "?"}


def passed(kind: str, objects: tuple[int, int, int], choice: int | None) -> bool:
    """Return whether a check question was answered correctly, with the anchor or the object that differs.

    Examples
    --------
    >>> passed("closer", (4, 7, 4), 1), passed("odd", (4, 7, 4), 1), passed("closer", (4, 7, 4), None)
    (True, True, False)
    """
    if choice is None:
        return False
    if kind == "closer":
        return objects[1 + choice] == objects[0]
    return objects.count(objects[choice]) == 1


def _hash(key: str) -> bytes:
    """Return the hash that is stored instead of a participant's key, so that the database does not reveal the key."""
    return hashlib.sha256(key.encode()).digest()


def check_kind(study: Study, store: Store) -> None:
    """Raise an error if the kind of questions was changed after the first answers."""
    kind = store.value("SELECT value FROM about WHERE name = 'kind'")
    if kind not in (None, study.kind) and store.value("SELECT 1 FROM answers LIMIT 1"):
        raise ValueError(
            f'{study.folder / "study.toml"}: kind is "{study.kind}", but there are answers of kind "{kind}"; '
            "change it back, or create a new study"
        )
