"""The interview of a participant: joining, answering and the current state. The server checks every request."""

import hashlib
import json
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from closerthan.collect.choosing.quality import passed_checks
from closerthan.collect.choosing.question_drawer import NoQuestionLeftError, QuestionDrawer
from closerthan.collect.store.admission import admission, places_by_condition, study_state
from closerthan.collect.store.answers import joined, objects_of, picks_of
from closerthan.collect.store.database import Store
from closerthan.collect.store.keyed_codes import is_pilot_ticket, withdrawal_code
from closerthan.collect.study.description import Study
from closerthan.collect.study.questionnaire import Item
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
    expected: NotRequired[int]


class StateMessage(TypedDict):
    """The state of a participant as the page receives it: the open questions, or how the interview ended.

    A stage is "before" or "after" (a questionnaire), "comprehension", "questions", "paused", "complete", "failed",
    "declined", "withdrawn" or "consent" (its text has changed), or, for somebody who has not joined, "open", "paused",
    "full" or "unidentified" (the recruiter's id is missing).
    """

    stage: str
    questions: list[QuestionMessage]
    pilot: NotRequired[bool]
    withdrawal: NotRequired[str]
    answered: NotRequired[int]
    code: NotRequired[str]
    redirect: NotRequired[str]
    debriefing: NotRequired[str]
    wrong: NotRequired[bool]
    attempt: NotRequired[int]
    texts: NotRequired[dict[str, str]]


class Interview:
    """The interviews of all participants of a study, for use by one thread at a time.

    Parameters
    ----------
    study, store
        The study and the database for its answers.
    key
        The key of the hashes that serve as addresses of media files, of tickets for pilots, and of withdrawal codes.
    clock, rng
        The source of time and randomness; by default those of the system.
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        key: bytes = b"",
        *,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self.study, self._store, self._key, self._clock = study, store, key, clock
        numbers = store.name_objects([stimulus.name for stimulus in study.objects])
        self._stimuli = {numbers[stimulus.name]: stimulus.message(key) for stimulus in study.objects}
        # People who joined before there were conditions, or whose condition is gone, see the study itself.
        self._parts = {name: study.of_condition(name) for name in ("", *study.condition_names)}
        self._drawers = {name: QuestionDrawer(part, store, numbers, rng, name) for name, part in self._parts.items()}
        self._random = rng or random.SystemRandom()
        with store.writing():
            check_kind(study, store)
            store.change("INSERT OR REPLACE INTO about VALUES ('kind', ?)", study.screen.name)
            store.change(
                "INSERT OR IGNORE INTO consents (version, text) VALUES (?, ?)", study.consent_version, study.consent
            )
            for name in study.condition_names:
                self._drawers[name].choose_shared()

    def join(self, key: str, consent: str, address: Mapping[str, str]) -> StateMessage:
        """Add a participant who gave consent, unless the key or the recruiter's id already belongs to one."""
        self.check_join(consent, address)
        pilot = self._is_pilot(address)
        identity = {} if pilot else self.study.recruiter.identity(address)
        with self._store.writing():
            if self._find(key) is None:
                number = self._same_person(identity)
                if number is None:
                    stage = self._admission(pilot)
                    if stage != "open":
                        return self._not_admitted(stage, identity)
                    number = self._add(identity, pilot)
                self._store.insert("keys", hash=_hash(key), participant=number)
            participant = self._participant(key)
            if participant["state"] == "running":
                self._agree(participant["number"])
            return self._state(key)

    def _agree(self, participant: int) -> None:
        """Store that a participant agreed to the current consent text; the first agreement to a version is kept."""
        version = self.study.consent_version
        self._store.change("INSERT OR IGNORE INTO agreements VALUES (?, ?, ?)", participant, version, self._clock())
        self._store.change("UPDATE participants SET consent = ? WHERE number = ?", version, participant)

    def _agrees(self, participant: sqlite3.Row) -> bool:
        """Return whether a participant agreed to the current consent text."""
        return bool(participant["consent"] == self.study.consent_version)

    def check_join(self, consent: str, address: Mapping[str, str]) -> None:
        """Raise Refused if somebody with this address or consent cannot join; nothing is read or stored."""
        if self.study.recruiter.is_preview(address):
            raise Refused(403, "this is a preview; accept the task first")
        missing = self._missing_id(address)
        if missing:
            raise Refused(
                422, f"the parameter {missing} of the address has no id; open the study from the recruiter's site"
            )
        if consent != self.study.consent_version:
            raise Refused(409, "the consent text has changed; reload the page")

    def _missing_id(self, address: Mapping[str, str]) -> str:
        """Return the name of the parameter that lacks the recruiter's id, which pilots and previews do not need."""
        recruiter = self.study.recruiter
        return "" if self._is_pilot(address) or recruiter.is_preview(address) else recruiter.missing(address)

    def arrive(self, address: Mapping[str, str]) -> StateMessage:
        """Return whether somebody could join now, without storing anything."""
        if self._missing_id(address):
            return {"stage": "unidentified", "questions": []}
        pilot = self._is_pilot(address)
        identity = {} if pilot else self.study.recruiter.identity(address)
        with self._store.reading():
            stage = "open" if self._same_person(identity) is not None else self._admission(pilot)
        return self._not_admitted(stage, identity)

    def _is_pilot(self, address: Mapping[str, str]) -> bool:
        return is_pilot_ticket(self._key, address.get("pilot", ""))

    def _admission(self, pilot: bool) -> str:
        return "open" if pilot else admission(self.study, self._store, self._clock())

    def _not_admitted(self, stage: str, identity: Mapping[str, str]) -> StateMessage:
        if stage != "full":
            return {"stage": stage, "questions": []}
        code = self.study.ending(stage)
        redirect = self.study.recruiter.way_back(code, identity)
        return {"stage": stage, "questions": [], "code": code, "redirect": redirect}

    def withdraw(self, key: str) -> StateMessage:
        """Delete a participant with all answers. Only the number of withdrawals is kept."""
        with self._store.writing():
            participant = self._participant(key)
            self._store.change("DELETE FROM participants WHERE number = ?", participant["number"])
            if not participant["pilot"]:
                self._store.change(
                    """INSERT INTO about VALUES ('withdrawn', 1)
                    ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"""
                )
        self._store.tidy()
        return {"stage": "withdrawn", "questions": []}

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
        response, picks = self._parsed_choice(choice)
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
            earlier = self._store.row(
                "SELECT said, choice, more AS later_choices FROM answers WHERE question = ?", question
            )
            if earlier is not None:
                if (earlier["said"], picks_of(earlier)) != (response, picks):
                    raise Refused(409, "this question already has a different answer")
                return self._state(key)
            if participant["state"] != "running":
                raise Refused(410, "this participant has finished")
            if row["place"] != self._open(participant["number"])[0]["place"]:
                raise Refused(409, "an earlier question is still open")
            option, later = (picks[0], joined(picks[1:])) if picks else (None, "")
            self._store.insert(
                "answers", question=question, said=response, choice=option, more=later, rt_ms=rt_ms, at=self._clock()
            )
            if response == "fault":
                self._store_faults(question, choice["fault"])
            return self._state(key)

    def _store_faults(self, question: str, positions: Any) -> None:
        """Store which objects of a question could not be shown, given their positions with the anchor first."""
        objects = objects_of(self._store.row("SELECT * FROM questions WHERE id = ?", question))
        is_list = isinstance(positions, list) and all(type(position) is int for position in positions)
        if not is_list or not 0 < len(set(positions) & set(range(len(objects)))) == len(positions):
            raise Refused(422, f"fault must list positions from 0 to {len(objects) - 1}, each at most once")
        for position in positions:
            self._store.change("INSERT OR IGNORE INTO faults VALUES (?, ?)", question, objects[position])

    def respond(self, key: str, form: Any, values: Any) -> StateMessage:
        """Store the responses to a questionnaire, or an answer to the question about the instructions.

        Responses that are stored already stay as they are, so a repeated request gets the same reply. Like answers,
        they are also stored while the study is paused. If the consent text has changed, nothing is stored before the
        participant agrees to it; the page then shows the form again.
        """
        if not isinstance(values, dict):
            raise Refused(422, "values must be an object with a value for each item")
        with self._store.writing():
            participant = self._participant(key)
            may_respond = participant["state"] == "running" and self._agrees(participant)
            ahead = self._next_step(participant) if may_respond else None
            stage = None if ahead is None else ahead["stage"]
            if form == "comprehension" and stage == form:
                return self._comprehend(key, participant["number"], values)
            if form == stage and form in ("before", "after"):
                for item in self.study.questionnaire:
                    if item.when == form:
                        self._store_response(participant["number"], item, values.get(item.name))
            return self._state(key)

    def _store_response(self, participant: int, item: Item, value: Any) -> None:
        try:
            response = json.dumps(item.parsed(value), ensure_ascii=False)
        except ValueError as error:
            raise Refused(422, str(error)) from None
        self._store.change(
            "INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?)", participant, item.name, response, self._clock()
        )

    def _comprehend(self, key: str, participant: int, values: Mapping[str, Any]) -> StateMessage:
        """Count an attempt at the question about the instructions; after too many, the interview ends.

        A repeated request, which has the number of an earlier attempt, is not counted again.
        """
        question, answer = self.study.comprehension, values.get("answer")
        assert question is not None
        is_right = type(answer) is int and answer == question.correct
        attempts = 1 + self._attempts(participant)
        if values.get("attempt", attempts) != attempts:
            return {**self._state(key), "wrong": True}
        self._store.change(
            "INSERT OR REPLACE INTO responses VALUES (?, 'comprehension', ?, ?)",
            participant, json.dumps({"attempts": attempts, "passed": is_right}), self._clock(),
        )  # fmt: skip
        if not is_right and attempts >= question.attempts:
            self._end(participant, "failed")
        state = self._state(key)
        return state if is_right or state["stage"] != "comprehension" else {**state, "wrong": True}

    def _attempts(self, participant: int) -> int:
        return int(self._response(participant, "comprehension").get("attempts", 0))

    def _response(self, participant: int, item: str) -> Any:
        value = self._store.value("SELECT value FROM responses WHERE participant = ? AND item = ?", participant, item)
        return json.loads(value) if value is not None else {}

    def _form(self, participant: int, when: str) -> StateMessage | None:
        """Return the state of a participant who has not filled in a questionnaire; None if there is nothing to do."""
        stored = {
            row["item"] for row in self._store.rows("SELECT item FROM responses WHERE participant = ?", participant)
        }
        if any(item.when == when and item.name not in stored for item in self.study.questionnaire):
            return {"stage": when, "questions": []}
        return None

    def _first_steps(self, participant: int) -> StateMessage | None:
        """Return the state of a participant who must do something before the first question, otherwise None."""
        study = self.study
        if not study.questionnaire and study.comprehension is None:
            return None
        form = self._form(participant, "before")
        if form is None and study.comprehension and not self._response(participant, "comprehension").get("passed"):
            return {"stage": "comprehension", "questions": [], "attempt": 1 + self._attempts(participant)}
        return form

    def _parsed_choice(self, choice: Any) -> tuple[str, tuple[int, ...]]:
        """Return the kind of reply (choice, skip, tie or fault), and the positions of the picked options."""
        study, screen = self.study, self.study.screen
        if isinstance(choice, dict) and set(choice) == {"fault"}:
            return "fault", ()
        if (choice == "skip" and study.skip) or (choice == "tie" and study.tie):
            return choice, ()
        picks = choice if screen.picks_several else [choice]
        if (
            isinstance(picks, list)
            and len(picks) == screen.n_picks
            and all(type(pick) is int and 0 <= pick < screen.n_options for pick in picks)
            and len(set(picks)) == len(picks)
        ):
            return "choice", tuple(picks)
        several = f"a list of {screen.n_picks} different numbers " if screen.picks_several else ""
        words = "".join(f", or {word}" for word in ("skip", "tie") if getattr(study, word))
        rule = f"{several}from 0 to {screen.n_options - 1}{words}"
        raise Refused(422, f"choice is {str(choice)[:40]!r}; it must be {rule}")

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

    def _add(self, identity: Mapping[str, str], pilot: bool = False) -> int:
        condition = self._next_condition(pilot)
        number = self._store.insert(
            "participants",
            condition=condition,
            state="running",
            consent=self.study.consent_version,
            joined_at=self._clock(),
            plan=self._drawers[condition].plan(),
            pilot=pilot,
        )
        for role, value in identity.items():
            self._store.insert("identities", participant=number, role=role, value=value)
        return number

    def _next_condition(self, pilot: bool) -> str:
        """Return the condition of a new participant: one of those with the fewest people, at random."""
        names = self.study.condition_names
        if pilot or len(names) == 1:
            return self._random.choice(names)
        places = places_by_condition(self._store, self._clock())
        least = min(places.get(name, 0) for name in names)
        return self._random.choice([name for name in names if places.get(name, 0) == least])

    def _condition(self, participant: int) -> str:
        name: str = self._store.value("SELECT condition FROM participants WHERE number = ?", participant)
        return name if name in self._parts else ""

    def _open(self, participant: int) -> Sequence[sqlite3.Row]:
        return self._store.rows(
            """SELECT questions.* FROM questions LEFT JOIN answers ON question = id
            WHERE participant = ? AND question IS NULL ORDER BY place""",
            participant,
        )

    def _state(self, key: str) -> StateMessage:
        state = self._progress(key)
        participant = self._participant(key)
        if participant["state"] != "declined":
            state["withdrawal"] = withdrawal_code(self._key, participant["number"])
        if participant["pilot"]:
            state |= {"pilot": True, "redirect": ""}
        if participant["condition"] in self._parts and participant["condition"]:
            part = self._parts[participant["condition"]]
            state["texts"] = {"question": part.question, "instructions": part.instructions}
        return state

    def _progress(self, key: str) -> StateMessage:
        participant = self._participant(key)
        number = participant["number"]
        if participant["state"] == "running":
            if study_state(self._store) == "paused" and not participant["pilot"]:
                return {"stage": "paused", "questions": []}
            if not self._agrees(participant):
                return {"stage": "consent", "questions": []}
            step = self._next_step(participant)
            if step is not None:
                return step
            self._finish(number)
            participant = self._participant(key)
        code, redirect = self._ending(number, participant["state"])
        ended: StateMessage = {"stage": participant["state"], "questions": [], "code": code, "redirect": redirect}
        if self.study.debriefing and participant["state"] in ("complete", "failed"):
            ended["debriefing"] = self.study.debriefing
        return ended

    def _next_step(self, participant: sqlite3.Row) -> StateMessage | None:
        """Return the next form or the next questions of a participant; None if there is nothing left to do."""
        number, plan = participant["number"], participant["plan"]
        span = "SELECT min(place), max(place) FROM questions WHERE participant = ?"
        ((first, last),) = self._store.rows(span, number)
        first_steps = self._first_steps(number) if last is None else None
        if first_steps is not None:
            return first_steps
        # A change of `practice` in study.toml concerns only those who have not begun.
        practice = self.study.practice if first is None else max(0, 1 - first)
        last = -practice if last is None else last
        try:
            self._replace_removed(number, plan)
            n_open = len(self._open(number))
            drawer = self._drawers[self._condition(number)]
            # Questions are drawn as late as possible, because repeats refer to earlier answers.
            while last < len(plan) and n_open < AHEAD:
                drawer.assign(number, last + 1, plan, self._clock())
                last, n_open = last + 1, n_open + 1
        except NoQuestionLeftError:  # after objects were removed, all questions have been asked
            plan = plan[: max(0, last)]
            self._store.change("UPDATE participants SET plan = ? WHERE number = ?", plan, number)
        waiting = self._open(number)
        if waiting:
            return {
                "stage": "questions",
                "answered": last + practice - len(waiting),
                "questions": [self._message(row, practice, len(plan)) for row in waiting],
            }
        return self._form(number, "after") if self.study.questionnaire else None

    def _replace_removed(self, participant: int, plan: str) -> None:
        """Draw open questions again if one of their objects has been removed from the study."""
        for row in self._open(participant):
            if not self._stimuli.keys() >= set(objects_of(row)):
                self._store.change("DELETE FROM questions WHERE id = ?", row["id"])
                self._drawers[self._condition(participant)].assign(participant, row["place"], plan, self._clock())

    def _message(self, row: sqlite3.Row, n_practice: int, number: int) -> QuestionMessage:
        screen, objects = self.study.screen, objects_of(row)
        stimuli = [self._stimuli[thing] for thing in objects]
        practice = row["place"] < 1
        message: QuestionMessage = {
            "id": row["id"],
            "anchor": stimuli[0] if screen.has_anchor else None,
            "options": stimuli[screen.has_anchor :],
            "place": row["place"] + n_practice * practice,
            "of": n_practice if practice else number,
            "practice": practice,
        }
        if practice and self.study.feedback:
            for place in range(screen.n_options):
                if screen.passed(objects, [place]):
                    message["expected"] = place
        return message

    def _finish(self, participant: int) -> None:
        among = f"AND participant = {participant}"
        n_passed, n_checks = passed_checks(self._store, self.study.screen, among)[participant]
        failed = self.study.fails_checks(n_checks, n_checks - n_passed)
        self._end(participant, "failed" if failed else "complete")

    def _end(self, participant: int, state: str) -> None:
        self._store.change(
            "UPDATE participants SET state = ?, ended_at = ? WHERE number = ?", state, self._clock(), participant
        )

    def _ending(self, participant: int, state: str) -> tuple[str, str]:
        """Return the completion code and the address of the redirect."""
        code = self.study.ending(state)
        rows = self._store.rows("SELECT role, value FROM identities WHERE participant = ?", participant)
        redirect = self.study.recruiter.way_back(code, {row["role"]: row["value"] for row in rows})
        return code, redirect


def _hash(key: str) -> bytes:
    """Return the hash that is stored instead of a participant's key, so that the database does not reveal the key."""
    return hashlib.sha256(key.encode()).digest()


def check_kind(study: Study, store: Store) -> None:
    """Raise an error if the kind of questions was changed after the first answers."""
    stored = store.value("SELECT value FROM about WHERE name = 'kind'")
    kind = study.screen.name
    if stored not in (None, kind) and store.value("SELECT 1 FROM answers LIMIT 1"):
        raise ValueError(
            f"{study.folder / 'study.toml'}: the kind of question is {kind}, but there are answers to questions of the "
            f"kind {stored}; change it back, or create a new study"
        )
