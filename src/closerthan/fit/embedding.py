"""embed(): the front door, where all parts meet."""

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
from closerthan.fit.loss_check import warn_of_slopes
from closerthan.fit.loss_race import choose_and_fit
from closerthan.losses import Loss
from closerthan.objective.devices import device_named
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
    """Find a map that agrees with comparisons.

    Parameters
    ----------
    answers
        :class:`Comparisons`, or an (m, 3) or (m, 4) array of triplets or quadruplets.
    n_dims
        Number of dimensions of the map; 2 by default.
    settings
        Settings to start from, such as those of another result (``result.settings``); the other arguments change them.
    loss
        "auto" lets all losses race on held-out answers, fits the best one to all answers, and keeps the table of
        candidates in the result. Or a name from ``LOSSES``, or a :class:`Loss`. (Where all comparisons are about the
        same objects nothing can be held out: then it is "ste".) The race is run by polyak, whichever solver then fits
        the winner.
    solver
        A name from ``SOLVERS`` or a solver object such as ``SVRG(batch_size=20)``.
    start
        The first map, (n_objects, n_dims); drawn at random if not given.
    seed
        Makes everything random repeatable, to the bit, for any number of threads.
    epochs
        The most epochs to run.
    tolerance
        Stop when ``window`` epochs lower the best objective by less than this share of all that the map has gained so
        far (over one with all objects in one place); None: never.
    window
        Epochs over which ``tolerance`` judges progress; None: the usual number.
    validation
        Stop early by the error on held-out comparisons, and return the map that was best on them: a share of the
        answers to hold out at random, or comparisons of the same objects.
    patience
        Epochs that ``validation`` waits for a better error before it ends the fit; None: the usual number.
    by
        What is held out whole, by ``validation`` and ``loss="auto"``: "answers" (with all answers about the same
        objects), "blocks" of dependent trials, "people", or "comparisons", single ones. "auto": blocks where the
        answers have them, otherwise answers.
    time_limit
        Seconds after which to return the best map so far. The epoch that runs by then is ended early.
    callback
        Called as ``callback(record, embedding)`` after each epoch (from several threads if there are several starts);
        returning something true stops that start.
    progress
        Show a progress bar; a text is what it calls the fit.
    n_starts
        Random starts, run in parallel; the best is kept. None: one, or two with ``loss="auto"`` and polyak (of which
        only the most promising one is run to its end).
    n_threads
        Threads to use; None: one per core.
    device
        Where to compute: "cpu"; "cuda", a GPU, where the same seed does not promise the same bits (needs the extra
        ``torch``); "auto", the GPU where there is one and the answers are many; or a device object such as
        ``closerthan.objective.cpu.objective.CPU(least_part=1000)``.
    checkpoint
        A file to keep the state of the fit in, renewed every few seconds; it needs a seed. A fit that was killed goes
        on from it, to the same map, bit for bit. lbfgs, whose state is inside SciPy, begins again (to the same map).
    resume
        Go on from the checkpoint if it exists.

    Returns
    -------
    Result
        The best snapshot seen (by held-out error if there is one, otherwise by objective) and its history. Ctrl-C
        ends the fit early and returns the same, with ``stopped_by="interrupted"``; while "auto" is still choosing,
        there is nothing to return, and it is raised.

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
    check_keywords(options, EmbedOptions.__annotations__)
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
    if isinstance(settings.loss, Loss):
        warn_of_slopes(settings.loss)
    if isinstance(validation, Real) or settings.is_auto:
        check_by(settings.by, comparisons.people, comparisons.blocks)
    if start is not None and settings.random_starts > 1:
        raise ParameterError(
            "n_starts", settings.n_starts, "a given start is not random", "leave {n_starts} or {start} out"
        )
    if resume and checkpoint is None:
        raise ValueError("there is no checkpoint to resume from; pass checkpoint=FILE")
    if checkpoint is not None and not isinstance(seed, Integral):
        raise ParameterError("seed", seed, "a fit with a checkpoint needs a whole number, to be repeatable")
    if device.processes.n > 1 and not isinstance(seed, Integral):
        n = device.processes.n
        raise ParameterError("seed", seed, f"{n} processes need the same whole number, so that they start alike")
    inputs = Inputs(
        comparisons,
        held_out=None if is_fraction else _validation_set(validation, comparisons),
        start=None if start is None else first_map(start, (comparisons.n_objects, settings.n_dims)),
        rng=np.random.default_rng(seed if isinstance(seed, _GENERATORS) else settings.seed),
    )
    # An exception in the midst of an exchange would leave other processes waiting.
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
        result = choose_and_fit(inputs, settings, run) if settings.is_auto else fit(inputs, settings, run)
        if ctrl_c.pressed.is_set() and result.stopped_by != "interrupted":  # at the very end: callers must hear of it
            result = dataclasses.replace(result, stopped_by="interrupted")
        return result


def _validation_set(given: Any, answers: Comparisons) -> Comparisons:
    if isinstance(given, Comparisons):
        if answers.names is not None and given.names not in (None, answers.names):
            raise ValueError(
                "the validation set has other names than the comparisons; make it with names=comparisons.names"
            )
        validation = given
    elif answers.names is not None:
        validation = Comparisons.of(given, names=answers.names, unmentioned="ignore")
    else:
        validation = Comparisons.of(given, n_objects=answers.n_objects, unmentioned="ignore")
    if validation.n_objects > answers.n_objects:
        raise ValueError(
            f"the validation set speaks of {validation.n_objects} objects, the comparisons of {answers.n_objects}; "
            "pass n_objects when you make the comparisons"
        )
    return validation
