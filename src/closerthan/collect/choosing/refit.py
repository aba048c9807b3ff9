"""The refit process: fits the map again, judges it, and fills the queue of questions, whenever it is asked to.

``python -m closerthan.collect.choosing.refit STUDY`` does so once for each line that it reads, and ends when there are
no more: so it ends with the server, however that ends. The two meet in the file of answers.
"""

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.choosing.belief import LOSS, believed, fitted_map
from closerthan.collect.choosing.information import Chosen, Questions, choose
from closerthan.collect.choosing.judging import accuracies, assessed_people, ellipses, enough, plane
from closerthan.collect.choosing.quality import passed_checks
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Study, read_study
from closerthan.comparisons import Comparisons
from closerthan.losses import loss_named

__all__ = ["refit"]

ASSESS_AGAIN = 1.1  # factor by which the number of answers must have grown before people are assessed again
LEAST_QUEUE = 60  # questions that wait; with few objects, one for each would be gone at once


def refit(study: Study, store: Store) -> int | None:
    """Fit, choose, write, and judge; the version of the new map, or None if there is nothing to fit yet."""
    with store.reading():
        answers = comparisons_of(store, study.kind)
        shown = [row["number"] for row in store.rows("SELECT number FROM objects WHERE shown ORDER BY number")]
        # Those that are out: what the answer will be is not known, but it need not be asked for twice.
        out = store.rows("SELECT content FROM questions LEFT JOIN answers ON question = id WHERE question IS NULL")
        before = store.value("SELECT judgement FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1")
        seed = 1 + (store.value("SELECT max(version) FROM maps") or 0)
        n_objects = store.value("SELECT count(*) FROM objects")
        last = store.value("SELECT places FROM maps ORDER BY version DESC LIMIT 1")
    belief = embedding = None
    loss, rng = loss_named(LOSS).in_dims(study.dimensions), np.random.default_rng(seed)
    if answers is not None and len(answers) >= answers.n_objects:
        starts = [None, *_same_shape(last, (n_objects, study.dimensions))]
        embedding = fitted_map(answers, study.dimensions, loss, np.random.default_rng(0), starts)
        belief = believed(answers, embedding, loss, rng)
    questions = Questions(study.kind, n_objects)
    waiting = questions.keys(np.array([[int(one) for one in row["content"].split(":")] for row in out], np.int64))
    chosen = choose(questions, answers, max(n_objects, LEAST_QUEUE), rng, waiting, belief)
    version = _written(store, answers, embedding, chosen, set(shown))
    if version is not None and answers is not None and embedding is not None and belief is not None:
        # Only now, as nobody waits for it.
        judgement = _judgement(study, store, answers, Fitted(embedding, list(belief.maps)), json.loads(before or "{}"))
        with store.writing():
            store.change("UPDATE maps SET judgement = ? WHERE version = ?", json.dumps(judgement), version)
    return version


def _same_shape(places: str | None, shape: tuple[int, int]) -> list[Array]:
    """The last map, where there is one of the same objects in as many dimensions."""
    last = np.array(json.loads(places or "[]"))
    return [last] if last.shape == shape else []


class Fitted(NamedTuple):
    """A map and its replicates."""

    embedding: Array
    maps: list[Array]


def _written(
    store: Store, answers: Comparisons | None, embedding: Array | None, chosen: Chosen, shown: set[int]
) -> int | None:
    """Write the map and the new queue together."""
    with store.writing():
        version = None
        if embedding is not None and answers is not None:
            # The process of a server that was killed may have written one in the meantime.
            version = 1 + (store.value("SELECT max(version) FROM maps") or 0)
            places = json.dumps(embedding.round(6).tolist())
            store.insert("maps", version=version, made_at=time.time(), answers=answers.n_answers, places=places)
        store.change("DELETE FROM queue")
        scores = [None] * len(chosen.rows) if version is None else chosen.scores.tolist()
        for (first, second, third), score in zip(chosen.rows.tolist(), scores, strict=True):
            if shown.issuperset((first, second, third)):
                store.insert("queue", first=first, second=second, third=third, score=score, probability=1.0,
                             map=version or 0)  # fmt: skip
    return version


def _judgement(
    study: Study, store: Store, answers: Comparisons, fitted: Fitted, before: dict[str, Any]
) -> dict[str, Any]:
    """What the researcher's page shows of a map."""
    axes = plane(fitted.embedding, before.get("drawn"))
    found = accuracies(store, study.kind)
    people = {name: before.get(name) for name in ("people", "people_assessed_at")}
    if answers.n_answers >= ASSESS_AGAIN * (people["people_assessed_at"] or 0):
        checks = {str(number): (asked, passed) for number, (passed, asked) in passed_checks(store, study.kind).items()}
        people = {
            "people": assessed_people(answers, study.dimensions, checks),
            "people_assessed_at": answers.n_answers,
        }
    return {
        "drawn": (fitted.embedding @ axes - (fitted.embedding @ axes).mean(axis=0)).round(5).tolist(),
        "spread": np.round(ellipses(fitted.maps, fitted.embedding, axes), 5).tolist(),
        "accuracy": found,
        "enough": enough(found, answers.n_answers, answers.n_objects),
        **people,
    }


def main() -> None:
    """Refit whenever a line is read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes our input
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)  # participants come first
    study = read_study(Path(sys.argv[1]))
    with Store(study.folder / FILE) as store, contextlib.suppress(BrokenPipeError):  # the server was killed
        for _ in sys.stdin:
            print(refit(study, store) or 0, flush=True)


if __name__ == "__main__":
    main()
