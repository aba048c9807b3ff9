"""The process that refits the map of a running study, assesses it, and fills the queue of questions.

``python -m closerthan.collect.choosing.refit STUDY`` refits once for each line on its standard input and exits at the
end of the input, so it exits with the server, however the server ends. Results are passed through the database. After
each refit it prints the number of answers that the map was fitted to, or why the refit failed.
"""

import contextlib
import itertools
import json
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.collect.choosing.belief import Belief, Criterion, fit_belief, fit_maps, next_criterion
from closerthan.collect.choosing.information import ChosenQuestions, Questions, choose
from closerthan.collect.choosing.judging import (
    Accuracy,
    accuracies,
    assessed_people,
    ellipses,
    enough,
    plane,
)
from closerthan.collect.choosing.quality import Assessment, passed_checks
from closerthan.collect.choosing.refit_process import FAILED, answers_between_refits
from closerthan.collect.store.answers import columns_of, comparisons_of, objects_of
from closerthan.collect.store.database import FILE, Store, problem_of_file
from closerthan.collect.store.participants import COUNTED, n_recounts
from closerthan.collect.study.description import Study, read_study
from closerthan.comparisons import Comparisons
from closerthan.operating_system import lower_priority
from closerthan.result import Result

__all__ = ["refit"]

ASSESS_AGAIN = 1.1  # factor by which the answers must have grown before they and the people are assessed again
TIME_LIMIT = 60.0  # seconds for the learning curve
LEAST_QUEUE = 1000  # minimum length of the queue, which must last until the next refit even if a whole class joins
MOST_QUEUE = 50  # maximum length of the queue per object
HEADROOM = 2.0  # factor by which the queue exceeds the number of answers that the last refits suggest


def refit(study: Study, store: Store) -> int | None:
    """Fit the map of each condition, fill its queue and assess it; return the version of the last one.

    None is returned if there are too few answers for a map.
    """
    versions = [_refit(study.of_condition(condition), store, condition) for condition in study.condition_names]
    with store.writing():  # conditions can be removed from study.toml
        marks = ", ".join("?" * len(study.condition_names))
        store.change(f"DELETE FROM queue WHERE condition NOT IN ({marks})", *study.condition_names)
    return versions[-1]


def _refit(study: Study, store: Store, condition: str) -> int | None:
    """Fit the map of one condition, to which ``study`` is restricted."""
    began = time.time()
    with store.reading():
        answers = comparisons_of(store, study.screen, condition=condition)
        numbers = {row["name"]: row["number"] for row in store.rows("SELECT number, name FROM objects WHERE shown")}
        # Questions that are waiting for an answer need not be put to anyone else.
        pending = store.rows(
            f"""SELECT questions.* FROM questions LEFT JOIN answers ON question = id
            WHERE question IS NULL AND {COUNTED}
            AND participant IN (SELECT number FROM participants WHERE condition = ?)""",
            condition,
        )
        before = store.latest_judgement(condition)
        seed = 1 + (store.value("SELECT max(version) FROM maps") or 0)
        n_objects = store.value("SELECT count(*) FROM objects")
        recounts = n_recounts(store)
    if before.get("recounts", 0) != recounts:
        before.pop("assessed_at", None)  # somebody was excluded, included or deleted, so everybody is assessed again
    available = {numbers[stimulus.name] for stimulus in study.objects if stimulus.name in numbers}
    # The map of a condition with few of the objects has no place for the others.
    part = np.arange(n_objects) if len(available) == len(numbers) else np.array(sorted(available))
    answers = None if answers is None else _about(answers, part)
    belief = embedding = best = None
    rng = np.random.default_rng(seed)
    if answers is not None and len(answers) >= answers.n_objects:
        loss, penalty, _ = _criterion_of(before)
        maps = fit_maps(answers, study.dimensions, np.random.default_rng(0), loss, penalty)
        best, belief = maps[0], fit_belief(answers, maps, rng)
        embedding = np.full((n_objects, study.dimensions), np.nan)
        embedding[part] = best.embedding
    questions = Questions(study.kind, len(part), n_options=study.shown, n_picks=study.picks)
    waiting = np.array([objects_of(row) for row in pending], np.int64).reshape(-1, study.screen.n_objects)
    waiting = np.searchsorted(part, waiting[np.isin(waiting, part).all(axis=1)])
    length = queue_length(store, len(part), 0 if answers is None else answers.n_answers, began, time.time())
    chosen = choose(questions, answers, length, rng, waiting, belief)
    chosen = chosen._replace(rows=part[chosen.rows])
    version = _write(store, answers, embedding, chosen, available, condition)
    if version is not None and answers is not None and best is not None and belief is not None:
        # The assessment comes last, because participants need the queue first.
        judgement = _judgement(study, store, answers, best, belief, before, condition)
        judgement |= {"objects": part.tolist(), "recounts": recounts}
        with store.writing():
            store.change("UPDATE maps SET judgement = ? WHERE version = ?", json.dumps(judgement), version)
    return version


def _about(answers: Comparisons, part: NDArray[np.int64]) -> Comparisons | None:
    """Return the answers about these objects alone, which are renumbered from 0; None if there are none."""
    if len(part) == answers.n_objects:
        return answers
    inside = answers.take(np.flatnonzero(np.isin(answers.rows, part).all(axis=1)))
    rows = np.searchsorted(part, inside.rows).astype(np.int32)
    return inside.replace(rows=frozen(rows), n_objects=len(part)) if len(inside) else None


def queue_length(store: Store, n_objects: int, n_answers: int, began: float, now: float) -> int:
    """Return how many questions to put into the queue: enough until the next refit has filled it again.

    A refit is due only after many new answers if there are many already, even if the server is restarted in between.
    It is assumed to take as long as the longest of the latest refits and of this one, which began at ``began``, and
    answers are assumed to keep arriving at the rate of the last minutes.
    """
    minutes = 2
    rate = store.value("SELECT coalesce(sum(answers), 0) FROM minutes WHERE minute >= ?", now // 60 - minutes)
    made_at = [now, *(row["made_at"] for row in store.rows("SELECT made_at FROM maps ORDER BY version DESC LIMIT 3"))]
    longest = max(now - began, *(later - earlier for later, earlier in itertools.pairwise(made_at)), 0.0)
    expected = HEADROOM * rate / (60 * minutes) * min(longest, 3600.0)
    least = max(LEAST_QUEUE, answers_between_refits(n_objects, n_answers))
    return int(min(max(least, expected), max(MOST_QUEUE * n_objects, LEAST_QUEUE)))


class Judgement(TypedDict, total=False):
    """The assessment of a map for the researcher's page, which the database stores as JSON.

    Attributes
    ----------
    objects
        The numbers of the objects on the map.
    drawn, spread
        Their coordinates in the plane, and the ellipses around them.
    accuracy
        The accuracy over time.
    enough
        Advice in words on whether to continue the study.
    assessed_at
        The number of answers that the advice and the assessment of the participants are based on.
    criterion
        How the next maps are fitted.
    recounts
        How often people had been excluded, included or deleted when the map was fitted.
    """

    objects: list[int]
    drawn: list[list[float]]
    spread: list[list[float]]
    accuracy: list[Accuracy]
    enough: str
    assessed_at: int | None
    criterion: Criterion
    recounts: int


def _criterion_of(judgement: Judgement) -> Criterion:
    return Criterion(*judgement.get("criterion", ()))


def _write(
    store: Store,
    answers: Comparisons | None,
    embedding: Array | None,
    chosen: ChosenQuestions,
    available: set[int],
    condition: str,
) -> int | None:
    """Write the map and the new queue in one transaction; return the version of the map."""
    with store.writing():
        version = None
        # The refit process of a killed server may have written another map in the meantime.
        next_version = 1 + (store.value("SELECT max(version) FROM maps") or 0)
        latest = "SELECT places FROM maps WHERE condition = ? ORDER BY version DESC LIMIT 1"
        row = {"version": next_version, "made_at": time.time(), "condition": condition}
        row["answers"] = 0 if answers is None else answers.n_answers
        if embedding is not None:
            version = next_version
            store.insert("maps", **row, places=json.dumps(embedding.round(6).tolist()))
        elif store.value(latest, condition) not in (None, "[]"):
            # Too few answers are left after exclusions or withdrawals: an empty map replaces the latest one.
            store.insert("maps", **row, places="[]", judgement="{}")
        # Questions of older maps stay in the queue until the new ones are there, so that it is never empty.
        newest = store.value("SELECT coalesce(max(number), 0) FROM queue")
    scores = [None] * len(chosen.rows) if version is None else chosen.scores.tolist()
    store.change_many(
        """INSERT INTO queue (number, first, second, third, more, score, probability, map, condition)
        VALUES (?, ?, ?, ?, ?, ?, 1.0, ?, ?)""",
        (
            (number, *columns_of(objects).values(), score, version or 0, condition)
            for number, (objects, score) in enumerate(zip(chosen.rows.tolist(), scores, strict=True), newest + 1)
            if available.issuperset(objects)
        ),
    )
    with store.writing():
        store.change("DELETE FROM queue WHERE number <= ? AND condition = ?", newest, condition)
    return version


def _judgement(
    study: Study,
    store: Store,
    answers: Comparisons,
    result: Result,
    belief: Belief,
    before: Judgement,
    condition: str,
) -> Judgement:
    """Assess a map for the researcher's page."""
    embedding = result.embedding
    axes = plane(embedding, before.get("drawn"))
    accuracy = accuracies(store, study.screen, condition)
    criterion = next_criterion(answers, study.dimensions, _criterion_of(before))
    assessed_at, advice = before.get("assessed_at"), before.get("enough", "")
    if not (assessed_at or 0) <= answers.n_answers < ASSESS_AGAIN * (assessed_at or 0):
        advice, assessed_at = enough(answers, result, TIME_LIMIT), answers.n_answers
        checks = {
            str(number): (n_checks, n_passed)
            for number, (n_passed, n_checks) in passed_checks(store, study.screen).items()
        }
        _write_assessments(store, assessed_people(answers, study.dimensions, criterion, checks))
    return {
        "drawn": (embedding @ axes - (embedding @ axes).mean(axis=0)).round(5).tolist(),
        "spread": np.round(ellipses(answers, belief.maps, embedding, axes), 5).tolist(),
        "accuracy": accuracy,
        "enough": advice,
        "assessed_at": assessed_at,
        "criterion": criterion,
    }


def _write_assessments(store: Store, people: Mapping[str, Assessment]) -> None:
    # A participant may have withdrawn in the meantime.
    store.change_many(
        """INSERT OR REPLACE INTO assessments
        SELECT number, ?, ?, ? FROM participants WHERE number = CAST(? AS INTEGER)""",
        ((about["lapse"], about["verdict"], about["reasons"], number) for number, about in people.items()),
    )


def main() -> None:
    """Refit once for each line of the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the server, which closes the input
    lower_priority()  # the server has priority
    study = read_study(Path(sys.argv[1]))
    # The pipe is broken if the server was killed.
    with Store(study.folder / FILE, create=False) as store, contextlib.suppress(BrokenPipeError):
        for _ in sys.stdin:
            try:
                refit(study, store)
            except Exception as error:  # the server reports it, and tries again later
                traceback.print_exc()
                reason = problem_of_file(error) or f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
                print(f"{FAILED}{reason}", flush=True)
            else:
                latest = "SELECT answers, max(version) FROM maps GROUP BY condition"
                n_answers = store.value(f"SELECT sum(answers) FROM ({latest})")
                print(n_answers or 0, flush=True)


if __name__ == "__main__":
    main()
