"""What a participant may do: join, see where he is, answer. Everything is counted and checked here, on the server."""

import hashlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from closerthan.collect.choosing.questions import Drawer
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study

__all__ = ["Interview", "Refused"]

AHEAD = 2  # questions that a participant has at a time: the page loads the pictures of the second in advance
_LONGEST_TIME = 7 * 24 * 3600 * 1000  # a page can stay open for days


class Refused(Exception):  # noqa: N818 - nothing failed
    """A request that is not granted: the status of the reply, and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Interview:
    """All participants of one study; one thread at a time.

    Parameters
    ----------
    study, store
        What is asked, and where the answers are kept.
    media_key
        Makes the addresses of pictures, which say nothing about the objects.
    clock, rng
        Of the machine, unless a test brings its own.
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
        self._study, self._store, self._clock = study, store, clock
        numbers = store.name_objects([one.name for one in study.objects])
        self._shown = {numbers[one.name]: one.shown(media_key) for one in study.objects}
        self._drawer = Drawer(study, store, list(numbers.values()), rng)
        with store.writing():
            check_kind(study, store)
            store.change("INSERT OR REPLACE INTO about VALUES ('kind', ?)", study.kind)
            store.change(
                "INSERT OR IGNORE INTO consents (version, text) VALUES (?, ?)", study.consent_version, study.consent
            )
            self._drawer.share()

    def join(self, key: str, consent: str, address: Mapping[str, str]) -> dict[str, Any]:
        """Somebody agreed. The same key again is the same participant; so is the same person of a recruiter."""
        if self._study.recruiter.is_preview(address):
            raise Refused(403, "this is a preview; accept the task first")
        if consent != self._study.consent_version:
            raise Refused(409, "the text to agree to has changed; load the page again")
        identity = self._study.recruiter.identity(address)
        with self._store.writing():
            if self._known(key) is None:
                number = self._same_person(identity) or self._new(identity)
                self._store.insert("keys", hash=_hashed(key), participant=number)
            return self._state(key)

    def decline(self, key: str) -> dict[str, Any]:
        """Somebody did not agree: counted, and nothing else is kept."""
        with self._store.writing():
            known = self._known(key)
            if known is None:
                number = self._store.insert("participants", state="declined", joined_at=self._clock())
                self._store.insert("keys", hash=_hashed(key), participant=number)
            elif known["state"] != "declined":
                raise Refused(409, "this participant has agreed before")
            return self._state(key)

    def state(self, key: str) -> dict[str, Any]:
        """Where a participant is: the questions to ask now, or the end."""
        with self._store.writing():
            return self._state(key)

    def answer(self, key: str, question: Any, choice: Any, rt_ms: Any) -> dict[str, Any]:
        """Keep an answer, and say what comes next. When this returns, the answer is on disk."""
        said, chosen = self._choice(choice)
        if rt_ms is not None and (type(rt_ms) is not int or not 0 <= rt_ms <= _LONGEST_TIME):
            raise Refused(422, f"rt_ms is {rt_ms!r}; it must be milliseconds, a whole number from 0")
        if not isinstance(question, str):
            raise Refused(422, "question must be the id of a question")
        with self._store.writing():
            participant = self._participant(key)
            asked = self._store.row("SELECT participant, place FROM questions WHERE id = ?", question)
            if asked is None:
                raise Refused(404, "there is no such question")
            if asked["participant"] != participant["number"]:
                raise Refused(403, "this question was asked of somebody else")
            before = self._store.row("SELECT said, choice FROM answers WHERE question = ?", question)
            if before is not None:
                if (before["said"], before["choice"]) != (said, chosen):
                    raise Refused(409, "this question was answered otherwise before")
                return self._state(key)
            if participant["state"] != "running":
                raise Refused(410, "this participant has ended")
            if asked["place"] != self._open(participant["number"])[0]["place"]:
                raise Refused(409, "an earlier question is still open")
            self._store.insert("answers", question=question, said=said, choice=chosen, rt_ms=rt_ms, at=self._clock())
            return self._state(key)

    def _choice(self, choice: Any) -> tuple[str, int | None]:
        study = self._study
        if type(choice) is int and 0 <= choice < study.options:
            return "choice", choice
        if (choice == "skip" and study.skip) or (choice == "tie" and study.tie):
            return choice, None
        words = [*range(study.options), *(word for word in ("skip", "tie") if getattr(study, word))]
        raise Refused(422, f"choice is {str(choice)[:40]!r}; it must be one of {', '.join(map(str, words))}")

    def _known(self, key: str) -> Any:
        return self._store.row(
            "SELECT participants.* FROM keys JOIN participants ON participant = number WHERE hash = ?", _hashed(key)
        )

    def _participant(self, key: str) -> Any:
        known = self._known(key)
        if known is None:
            raise Refused(401, "nobody is known by this key")
        return known

    def _same_person(self, identity: Mapping[str, str]) -> int | None:
        number: int | None = self._store.value(
            "SELECT participant FROM identities WHERE role = 'person' AND value = ?", identity.get("person")
        )
        return number

    def _new(self, identity: Mapping[str, str]) -> int:
        number = self._store.insert(
            "participants",
            state="running",
            consent=self._study.consent_version,
            joined_at=self._clock(),
            plan=self._drawer.plan(),
        )
        for role, value in identity.items():
            self._store.insert("identities", participant=number, role=role, value=value)
        return number

    def _open(self, participant: int) -> Sequence[Any]:
        return self._store.rows(
            """SELECT questions.* FROM questions LEFT JOIN answers ON question = id
            WHERE participant = ? AND question IS NULL ORDER BY place""",
            participant,
        )

    def _state(self, key: str) -> dict[str, Any]:
        participant = self._participant(key)
        number, plan = participant["number"], participant["plan"]
        if participant["state"] == "running":
            last = self._store.value("SELECT max(place) FROM questions WHERE participant = ?", number)
            last = -self._study.practice if last is None else last
            n_open = len(self._open(number))
            # A repeat looks back at what was answered, so that it is not drawn before it is needed.
            while last < len(plan) and n_open < AHEAD:
                last, n_open = last + 1, n_open + 1
                self._drawer.hand_out(number, last, plan, self._clock())
            waiting = self._open(number)
            if waiting:
                return {
                    "stage": "questions",
                    "answered": last + self._study.practice - len(waiting),
                    "questions": [self._told(row, len(plan)) for row in waiting],
                }
            self._end(number)
            participant = self._participant(key)
        return {"stage": participant["state"], "questions": [], **self._way_out(number, participant["state"])}

    def _told(self, row: Any, number: int) -> dict[str, Any]:
        """What the page may know of a question: neither its kind nor the names of its objects."""
        things = [self._shown.get(row[column]) or _GONE for column in ("first", "second", "third")]
        practice = row["place"] < 1
        return {
            "id": row["id"],
            "anchor": things[0] if self._study.kind == "closer" else None,
            "options": things[1:] if self._study.kind == "closer" else things,
            "place": row["place"] + self._study.practice * practice,
            "of": self._study.practice if practice else number,
            "practice": practice,
        }

    def _end(self, participant: int) -> None:
        wrong, checks = 0, 0
        rows = self._store.rows(
            """SELECT first, second, third, choice FROM questions JOIN answers ON question = id
            WHERE participant = ? AND kind = 'check'""",
            participant,
        )
        for row in rows:
            checks += 1
            wrong += not passed(self._study.kind, (row["first"], row["second"], row["third"]), row["choice"])
        state = "failed" if checks and wrong / checks > self._study.checks_wrong else "complete"
        self._store.change(
            "UPDATE participants SET state = ?, ended_at = ? WHERE number = ?", state, self._clock(), participant
        )

    def _way_out(self, participant: int, state: str) -> dict[str, str]:
        code = self._study.ending(state)
        rows = self._store.rows("SELECT role, value FROM identities WHERE participant = ?", participant)
        redirect = self._study.recruiter.way_back(code, {row["role"]: row["value"] for row in rows})
        return {"code": code, "redirect": redirect}


_GONE = {"form": "text", "text": "?"}  # an object that was taken out of the study while it was asked about


def passed(kind: str, objects: tuple[int, int, int], choice: int | None) -> bool:
    """Whether a check question was answered rightly: the anchor itself, or the one that is there only once.

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


def _hashed(key: str) -> bytes:
    """What is kept of a participant's key, so that the file lets nobody answer for others."""
    return hashlib.sha256(key.encode()).digest()


def check_kind(study: Study, store: Store) -> None:
    """An answer means something else to another kind of question."""
    kind = store.value("SELECT value FROM about WHERE name = 'kind'")
    if kind not in (None, study.kind) and store.value("SELECT 1 FROM answers LIMIT 1"):
        raise ValueError(
            f'{study.folder / "study.toml"}: kind is "{study.kind}", and people have been asked "{kind}"; '
            "set it back, or make a new study"
        )
