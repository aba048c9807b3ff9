"""The refit process: fits the map again, judges it, and fills the queue of questions, whenever it is asked to.

``python -m closerthan.collect.refit STUDY`` does so once for each line that it reads, and ends when there are no more:
so it ends with the server, however that ends. The two meet in the file of answers.
"""

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.answers import comparisons_of
from closerthan.collect.choosing import LOSS, choose, replicates
from closerthan.collect.judging import accuracies, drawn_places, enough, lapse_rates, spreads
from closerthan.collect.store import FILE, Store
from closerthan.collect.study import Study, read_study
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.metrics import procrustes

__all__ = ["refit"]

LEAST_QUEUE = 60  # questions that wait; with few objects, one for each would be gone at once


def refit(study: Study, store: Store) -> int | None:
    """Fit, judge, choose and write; the version of the new map, or None if there is nothing to fit yet."""
    with store.reading():
        answers = comparisons_of(store, study.kind)
        shown = [row["number"] for row in store.rows("SELECT number FROM objects WHERE shown ORDER BY number")]
        # Those that are out: what the answer will be is not known, but it need not be asked for twice.
        out = store.rows("SELECT content FROM questions LEFT JOIN answers ON question = id WHERE question IS NULL")
        latest = store.row("SELECT version, places FROM maps ORDER BY version DESC LIMIT 1")
    version = 1 if latest is None else latest["version"] + 1
    maps: list[Array] = []
    embedding = None
    if answers is not None and len(answers) >= answers.n_objects:
        embedding = _fitted(answers, study.dimensions, None if latest is None else json.loads(latest["places"]))
        maps = replicates(answers, embedding, seed=version)
    exclude = {(anchor, min(pair), max(pair)) for anchor, *pair in (map(int, row["content"].split(":")) for row in out)}
    n_objects = 1 + max(shown)
    chosen = choose(answers, max(n_objects, LEAST_QUEUE), n_objects, version, exclude, maps)
    judgement = None
    if embedding is not None and answers is not None:
        drawn = drawn_places(embedding)
        found = accuracies(store, study.kind)
        judgement = {
            "drawn": drawn.round(5).tolist(),
            "spread": np.round(spreads(maps, drawn, embedding), 5).tolist(),
            "accuracy": found,
            "lapses": lapse_rates(answers, embedding),
            "enough": enough(found, answers.n_answers, len(shown)),
        }
    with store.writing():
        # The process of a server that was killed may have written one in the meantime.
        version = max(version, 1 + (store.value("SELECT max(version) FROM maps") or 0))
        if embedding is not None and answers is not None:
            places = json.dumps(embedding.round(6).tolist())
            store.insert(
                "maps",
                version=version,
                made_at=time.time(),
                answers=answers.n_answers,
                places=places,
                judgement=json.dumps(judgement),
            )
        store.change("DELETE FROM queue")
        scores = [None] * len(chosen.rows) if chosen.scores is None or not maps else chosen.scores.tolist()
        on_show = set(shown)
        for (first, second, third), score in zip(chosen.rows.tolist(), scores, strict=True):
            if on_show.issuperset((first, second, third)):
                store.insert("queue", first=first, second=second, third=third, score=score, probability=1.0,
                             map=version if embedding is not None else 0)  # fmt: skip
    return None if embedding is None else version


def _fitted(answers: Comparisons, n_dims: int, before: list[list[float]] | None) -> Array:
    """A map of all answers, turned so that it looks like the one before."""
    embedding: Array = embed(answers, n_dims, loss=LOSS, seed=0).embedding
    if before is None or len(before[0]) != n_dims:
        return embedding
    common = len(before)
    if common < len(embedding):  # new objects
        before = before + embedding[common:].tolist()
    aligned: Array = procrustes(embedding, np.array(before), scaling=False).aligned
    return aligned


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
