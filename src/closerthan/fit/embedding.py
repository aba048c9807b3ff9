"""embed: fit a map to comparisons."""

import dataclasses
import os
import time
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import ParameterError, check_keywords
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import check_by
from closerthan.fit.ctrl_c import CtrlC
from closerthan.fit.fixed_loss import Inputs, Run, first_map, fit
from closerthan.fit.loss_race import choose_and_fit
from closerthan.losses import Loss
from closerthan.messages import value_error
from closerthan.objective.devices import device_named
from closerthan.registry import is_library_class
from closerthan.result import Result
from closerthan.settings import GIVEN, FitOptions, Settings, lists_options

__all__ = ["embed"]

_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)


class EmbedOptions(FitOptions, total=False):
    """Keyword arguments of :func:`embed`: those of every fit, and those that only a single fit can have."""

    checkpoint: str | Path | None
    resume: bool


@lists_options(EmbedOptions)
def embed(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    settings: Settings | None = None,
    start: ArrayLike | None = None,
    **options: Unpack[EmbedOptions],
) -> Result:
    """Find a map that agrees with comparisons as well as possible.

    Parameters
    ----------
    answers
        :class:`Comparisons`, or an (m, 3) or (m, 4) array of triplets or quadruplets.
    n_dims
        Number of dimensions of the map; 2 by default.
    settings
        Settings to start from, such as those of another result (``result.settings``); the other arguments change them.
    loss
        "auto" chooses between ste, tste with several degrees of freedom and, where answers are not too few, the other
        losses, together with the penalty, by the error on held-out answers; it then fits the best combination to all
        answers and keeps the table of candidates in the result. Otherwise a name from ``LOSSES``, with a number
        for its parameter if you like (``"tste-4"``), or a :class:`Loss`. (If all comparisons
        are about the same objects, nothing can be held out, and "auto" means "ste".)
    penalty
        Strength of a penalty on the squared distances of the pairs, ``penalty * n_objects / n_comparisons * (near +
        far)`` per comparison; for a whole answer, ``penalty * n_objects / n_answers`` times twice the mean over the
        pairs shown. It acts as a Gaussian prior on the positions of the objects (a ridge penalty): it shrinks a map
        whose answers are few or contradict each other, so that the fit can run to its end without overfitting. "auto"
        chooses it on held-out answers, together with the loss if that is "auto". None, the default, also chooses it,
        except that it is 0 for a given loss if the solver is neither polyak nor hogwild, or if it would hardly matter
        because there are many answers (at least 65,536 comparisons, and 20 per coordinate).
    likelihood
        The likelihood to maximise. "comparisons": that of the comparisons that follow from the answers, as if they were
        independent. "answers": that of whole answers, each a choice among the pairs of objects that were shown, by
        Luce's choice rule. This needs a loss with a similarity (ste, tste, ckl; other losses are summed over
        comparisons), answers in memory, and a solver other than gram. A ranking, a set of several objects, or the odd
        one of more than three counts as several choices. "auto" means "comparisons", which are faster to fit and
        predict as well, except if there are many options and people answer by Luce's rule. For answers that are single
        comparisons, such as triplets, there is no difference, and the result says "comparisons".
    solver
        A name from ``SOLVERS`` or a solver object such as ``SVRG(batch_size=20)``. "hogwild" uses all threads for one
        large fit, but the same seed does not give the same bits: see :class:`closerthan.solvers.Hogwild`.
    start
        The first map, of shape (n_objects, n_dims). None draws it at random.
    seed
        Seed of everything random, except for the parts of the answers on which "auto" compares losses and penalties:
        these are always the same, so that two seeds choose the same without a time limit. The same seed gives the same
        map, bit for bit, for any number of threads (not with the solver hogwild); None draws a new one.
    epochs
        Maximum number of epochs.
    tolerance
        Stop when ``window`` epochs lower the best objective by less than this fraction of its total decrease so far
        (below that of a map with all objects in one place). None disables this rule.
    window
        Number of epochs over which ``tolerance`` measures progress. None means the default.
    validation
        Stop early by the error on held-out comparisons, and return the map with the lowest one: a fraction of the
        answers to hold out at random, or comparisons of the same objects.
    patience
        Number of epochs that ``validation`` waits for a lower error. None means the default.
    by
        The unit that ``validation`` and the choice of loss and penalty hold out: "answers" (with all answers about the
        same objects), "blocks" of dependent trials, "people", or single "comparisons". "auto" means blocks if the
        answers have them, otherwise answers.
    time_limit
        Seconds after which to return the best map so far. The current epoch is ended early.
    callback
        Called as ``callback(record, embedding)`` after each epoch (from several threads if there are several starts);
        a true return value stops that start.
    progress
        Whether to show a progress bar; text is shown as the name of the fit.
    n_starts
        Number of random starts, which run in parallel; the best is kept. None means four if polyak's loss or
        penalty is chosen for fewer than 65,536 comparisons (only the most promising one is then run to its end), and
        otherwise one.
    n_threads
        Number of threads. None means one per core.
    device
        Where to compute: "cpu"; "cuda", a GPU, on which the same seed does not guarantee the same bits (needs the
        extra ``torch``); "auto", a GPU if there is one and there are many answers; or a device object such as
        ``closerthan.objective.cpu.objective.CPU(least_part=1000)``.
    checkpoint
        A file for the state of the fit, which is rewritten every few seconds; it needs a seed. A fit that was killed
        resumes from it and ends with the same map, bit for bit (not with hogwild, whose steps are never repeated
        exactly). lbfgs reports no state, so it starts again and ends with the same map.
    resume
        Whether to resume from the checkpoint, if it exists.

    Returns
    -------
    Result
        The best map (by validation error if there is one, otherwise by objective) and its history. Ctrl-C stops the
        fit early and returns the best map so far, with ``stopped_by="interrupted"``; while "auto" is still comparing
        losses, there is no map, and KeyboardInterrupt is raised.

    Examples
    --------
    >>> import closerthan as ct
    >>> distances = ct.datasets.eurodist()
    >>> result = ct.embed(distances.comparisons(), n_dims=2, seed=0)
    >>> result.embedding.shape
    (21, 2)
    >>> bool(result.best_record.train_error < 0.1)
    True
    """
    began = time.perf_counter()
    check_keywords(options, ["n_dims", *EmbedOptions.__annotations__])
    comparisons = Comparisons.of(answers)
    callback, checkpoint, resume = options.get("callback"), options.get("checkpoint"), options.get("resume", False)
    if callback is not None and not callable(callback):
        raise ParameterError("callback", callback, "it must be a function of a record and a map, or None")
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise ParameterError("checkpoint", checkpoint, "it must be the name of a file")
    base = Settings.of(settings)
    device = device_named(options.get("device", base.device), options.get("n_threads"), len(comparisons))
    seed, validation = options.get("seed", base.seed), options.get("validation", base.validation)
    if isinstance(validation, str):
        raise ParameterError("validation", validation, "it must be a fraction, as in 0.1, or comparisons")
    is_fraction = validation is None or isinstance(validation, Real)
    changes = {name: value for name, value in options.items() if name in FitOptions.__annotations__}
    changes |= {
        "seed": None if isinstance(seed, _GENERATORS) else seed,
        "validation": validation if is_fraction else GIVEN,
    }
    settings = Settings.of(base, n_dims, changes).replace(device=device.name)
    if isinstance(settings.loss, Loss) and not is_library_class(type(settings.loss)):
        from closerthan.fit.loss_check import warn_of_slopes

        warn_of_slopes(settings.loss)
    if isinstance(validation, Real) or settings.must_choose:
        check_by(settings.by, comparisons.people, comparisons.blocks)
    if start is not None and settings.random_starts > 1:
        raise ParameterError(
            "n_starts",
            settings.n_starts,
            "the start is fixed, so there can be only one",
            "leave {n_starts} or {start} out",
        )
    if resume and checkpoint is None:
        raise value_error("there is no checkpoint to resume from", "pass {checkpoint}, a file", checkpoint=...)
    if checkpoint is not None and not isinstance(seed, Integral):
        raise ParameterError("seed", seed, "a fit with a checkpoint needs a whole number, to be repeatable")
    if device.processes.n > 1 and not isinstance(seed, Integral):
        n = device.processes.n
        raise ParameterError(
            "seed", seed, f"{n} processes need the same whole number, so that they draw the same start"
        )
    inputs = Inputs(
        comparisons,
        held_out=None if is_fraction else _validation_set(validation, comparisons),
        start=None if start is None else first_map(start, (comparisons.n_objects, settings.n_dims)),
        rng=np.random.default_rng(seed if isinstance(seed, _GENERATORS) else settings.seed),
    )
    # An exception during communication would leave other processes waiting.
    with CtrlC(insistent=device.processes.n == 1) as ctrl_c:
        run = Run(
            device,
            callback,
            options.get("progress", False),
            checkpoint,
            resume,
            ctrl_c=ctrl_c,
            deadline=settings.budget(began).deadline,
        )
        result = choose_and_fit(inputs, settings, run) if settings.must_choose else fit(inputs, settings, run)
        if ctrl_c.pressed.is_set() and result.stopped_by != "interrupted":  # pressed at the very end; callers must know
            result = dataclasses.replace(result, stopped_by="interrupted")
        return result


def _validation_set(data: Any, answers: Comparisons) -> Comparisons:
    if isinstance(data, Comparisons):
        if answers.names is not None and data.names not in (None, answers.names):
            raise ValueError(
                "the validation set has other names than the comparisons; create it with names=comparisons.names"
            )
        validation = data
    elif answers.names is not None:
        validation = Comparisons.of(data, names=answers.names, unmentioned="ignore")
    else:
        validation = Comparisons.of(data, n_objects=answers.n_objects, unmentioned="ignore")
    if validation.n_objects > answers.n_objects:
        raise ValueError(
            f"the validation set is about {validation.n_objects} objects, the comparisons about {answers.n_objects}; "
            "pass n_objects when you create the comparisons"
        )
    return validation
