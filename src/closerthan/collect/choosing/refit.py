"""The process that refits the map of a running study, assesses it, and fills the queue of questions.

``python -m closerthan.collect.choosing.refit STUDY`` refits once for each line on its standard input and exits at the
end of the input, so it exits with the server, however the server ends. Results are passed through the database.
"""

import contextlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import TypedDict

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.choosing.belief import Belief, fit_belief, fit_maps
from closerthan.collect.choosing.information import Chosen, Questions, choose
from closerthan.collect.choosing.judging import Accuracy, accuracies, assessed_people, ellipses, enough, plane
from closerthan.collect.choosing.quality import Assessment, passed_checks
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Study, read_study
from closerthan.comparisons import Comparisons
from closerthan.operating_system import lower_priority

__all__ = ["refit"]

ASSESS_AGAIN = 1.1  # factor by which the number of answers must have grown before people are assessed again
LEAST_QUEUE = (
    60  # minimum length of the queue; with few objects, one question per object would not last until the next refit
)


def refit(study: Study, store: Store) -> int | None:
    """Fit the map, fill the queue and assess the map; return its version, or None if there are too few answers."""
    with store.reading():
        answers = comparisons_of(store, study.kind)
        available = {row["number"] for row in store.rows("SELECT number FROM objects WHERE shown")}
        # Questions that wait for an answer need not be put to anyone else.
        pending = store.rows("SELECT content FROM questions LEFT JOIN answers ON question = id WHERE question IS NULL")
        before = store.latest_judgement()
        seed = 1 + (store.value("SELECT max(version) FROM maps") or 0)
        n_objects = store.value("SELECT count(*) FROM objects")
    belief = embedding = None
    rng = np.random.default_rng(seed)
    if answers is not None and len(answers) >= answers.n_objects:
        maps = fit_maps(answers, study.dimensions, np.random.default_rng(0))
        embedding, belief = maps[0].embedding, fit_belief(answers, maps, rng)
    questions = Questions(study.kind, n_objects)
    waiting = questions.keys(np.array([row["content"].split(":") for row in pending]).astype(np.int64))
    chosen = choose(questions, answers, max(n_objects, LEAST_QUEUE), rng, waiting, belief)
    version = _write(store, answers, embedding, chosen, available)
    if version is not None and answers is not None and embedding is not None and belief is not None:
        # The assessment comes last, because participants need the queue first.
        judgement = _judgement(study, store, answers, embedding, belief, before)
        with store.writing():
            store.change("UPDATE maps SET judgement = ? WHERE version = ?", json.dumps(judgement), version)
    return version


class Judgement(TypedDict, total=False):
    """The assessment of a map for the researcher's page, which the database stores as JSON.

    Attributes
    ----------
    drawn, spread
        Coordinates in the plane, and the ellipses around them.
    accuracy
        The accuracy over time.
    enough
        Advice in words on whether to continue the study.
    people, people_assessed_at
        The assessment of each participant, and the number of answers that it is based on.
    """

    drawn: list[list[float]]
    spread: list[list[float]]
    accuracy: list[Accuracy]
    enough: str
    people: dict[str, Assessment] | None
    people_assessed_at: int | None


def _write(
    store: Store, answers: Comparisons | None, embedding: Array | None, chosen: Chosen, available: set[int]
) -> int | None:
    """Write the map and the new queue in one transaction; return the version of the map."""
    with store.writing():
        version = None
        if embedding is not None and answers is not None:
            # The refit process of a killed server may have written another map in the meantime.
            version = 1 + (store.value("SELECT max(version) FROM maps") or 0)
            places = json.dumps(embedding.round(6).tolist())
            store.insert("maps", version=version, made_at=time.time(), answers=answers.n_answers, places=places)
        store.change("DELETE FROM queue")
        scores = [None] * len(chosen.rows) if version is None else chosen.scores.tolist()
        for (first, second, third), score in zip(chosen.rows.tolist(), scores, strict=True):
            if available.issuperset((first, second, third)):
                store.insert("queue", first=first, second=second, third=third, score=score, probability=1.0,
                             map=version or 0)  # fmt: skip
    return version


def _judgement(
    study: Study, store: Store, answers: Comparisons, embedding: Array, belief: Belief, before: Judgement
) -> Judgement:
    """Assess a map for the researcher's page."""
    axes = plane(embedding, before.get("drawn"))
    accuracy = accuracies(store, study.kind)
    people, assessed_at = before.get("people"), before.get("people_assessed_at")
    if answers.n_answers >= ASSESS_AGAIN * (assessed_at or 0):
        checks = {
            str(number): (n_checks, n_passed)
            for number, (n_passed, n_checks) in passed_checks(store, study.kind).items()
        }
        people, assessed_at = assessed_people(answers, study.dimensions, checks), answers.n_answers
    return {
        "drawn": (embedding @ axes - (embedding @ axes).mean(axis=0)).round(5).tolist(),
        "spread": np.round(ellipses(answers, belief.maps, embedding, axes), 5).tolist(),
        "accuracy": accuracy,
        "enough": enough(accuracy, answers.n_answers, answers.n_objects),
        "people": people,
        "people_assessed_at": assessed_at,
    }


def main() -> None:
    """Refit once for each line of the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the server, which closes the input
    lower_priority()  # the server has priority
    study = read_study(Path(sys.argv[1]))
    with Store(study.folder / FILE) as store, contextlib.suppress(BrokenPipeError):  # if the server was killed
        for _ in sys.stdin:
            print(refit(study, store) or 0, flush=True)


if __name__ == "__main__":
    main()
