"""Put questions to a program, several processes at once, with retries; every line is recorded.

closerthan itself uses no network: it starts the program and exchanges lines with it. Whether the program asks a
language model on this computer or elsewhere is up to the program.
"""

import contextlib
import dataclasses
import queue
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.models.answers import implied_comparisons, joined_answers
from closerthan.models.program import Program, ProgramError
from closerthan.models.prompts import Prompt, parse_reply
from closerthan.models.question_sets import QuestionSet
from closerthan.models.record import ANSWERED, FAILED, UNCLEAR, Attempt, AttemptLog

__all__ = ["Asking", "Outcome", "ask", "comparisons_of"]

LONGEST_PAUSE = 60.0  # seconds between two attempts
MOST_FAILURES = 10  # questions in a row without a reply, after which a run ends: the program is broken or out of quota
TICK = 0.2  # seconds after which the main thread checks again for Ctrl-C


@dataclasses.dataclass(frozen=True)
class Asking:
    """How to put questions to a program.

    Attributes
    ----------
    command
        The program and its arguments.
    n_processes
        Number of processes that run at the same time.
    timeout
        Seconds that a reply may take.
    retries
        Number of further attempts after a failure: no reply in time, a crash, or an error that the program reports.
    pause
        Seconds before the first further attempt; each later pause is twice as long.
    """

    command: Sequence[str]
    n_processes: int = 1
    timeout: float = 60.0
    retries: int = 2
    pause: float = 1.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes
    ----------
    outcomes
        The final attempt for each question with a reply, by its number.
    n_failed
        Number of questions that got no reply in this run.
    problems
        The reasons, with the number of questions to which each applies.
    n_attempts
        Total number of attempts in all runs.
    interrupted
        Whether Ctrl-C ended the run.
    gave_up
        Whether the run ended because there was no reply to ``MOST_FAILURES`` questions in a row.
    """

    outcomes: dict[int, Attempt]
    n_failed: int
    problems: dict[str, int]
    n_attempts: int
    interrupted: bool = False
    gave_up: bool = False

    @property
    def n_unclear(self) -> int:
        """Number of replies that name no option."""
        return sum(one.status == UNCLEAR for one in self.outcomes.values())

    @property
    def answers(self) -> dict[int, tuple[int, ...]]:
        """Positions of the chosen options, by the number of the question."""
        return {number: one.chosen for number, one in self.outcomes.items() if one.status == ANSWERED}


def ask(
    prompts: Sequence[Prompt],
    asking: Asking,
    record_path: Path,
    errors_path: Path,
    advance: Callable[[], None] = lambda: None,
) -> Outcome:
    """Ask all questions that the record does not answer yet; ``advance`` is called after each.

    If the program cannot be started, the run ends with an error. All other failures concern single questions, but after
    ``MOST_FAILURES`` of them in a row the run gives up.
    """
    with contextlib.ExitStack() as stack:
        record = stack.enter_context(AttemptLog(record_path, prompts, asking.command))
        errors = stack.enter_context(open(errors_path, "ab"))
        waiting: queue.SimpleQueue[Prompt] = queue.SimpleQueue()
        # Questions that failed in an earlier run come last, so that they cannot end this one before all are asked.
        remaining = [prompt for prompt in prompts if prompt.number not in record.outcomes]
        for prompt in sorted(remaining, key=lambda prompt: prompt.number in record.tried):
            waiting.put(prompt)
        run = _Run(asking, record, waiting, advance)
        n_workers = max(min(asking.n_processes, waiting.qsize()), 1)
        workers = [threading.Thread(target=run.work, args=(errors,)) for _ in range(n_workers)]
        for worker in workers:
            worker.start()
        interrupted = False
        try:
            while any(worker.is_alive() for worker in workers):
                workers[0].join(TICK) if workers[0].is_alive() else time.sleep(TICK)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            run.stop()
            for worker in workers:
                worker.join()
        if run.fatal is not None:
            raise run.fatal
        return Outcome(
            dict(record.outcomes), run.n_failed, run.problems, record.n_attempts, interrupted, run.has_given_up
        )


class _Run:
    """The state that the workers of one run share."""

    def __init__(
        self, asking: Asking, record: AttemptLog, waiting: "queue.SimpleQueue[Prompt]", advance: Callable[[], None]
    ) -> None:
        self._asking, self._record, self._waiting, self._advance = asking, record, waiting, advance
        self._is_stopped = threading.Event()
        self._lock = threading.Lock()
        self._programs: list[Program] = []
        self.problems: dict[str, int] = {}
        self.n_failed = 0
        self._n_failed_in_a_row = 0
        self.fatal: Exception | None = None

    @property
    def has_given_up(self) -> bool:
        """True if too many questions in a row got no reply."""
        return self._n_failed_in_a_row >= MOST_FAILURES

    def stop(self) -> None:
        """End all programs and workers."""
        self._is_stopped.set()
        with self._lock:
            programs = list(self._programs)
        for program in programs:
            program.stop()

    def work(self, errors: IO[bytes]) -> None:
        """Ask one question after the other until none is left."""
        with Program(self._asking.command, errors) as program:
            with self._lock:
                self._programs.append(program)
            while not self._is_stopped.is_set():
                try:
                    prompt = self._waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    self._ask(program, prompt)
                except Exception as error:  # the program cannot be started, the disk is full: the main thread raises it
                    self.fatal = error
                    self._is_stopped.set()

    def _ask(self, program: Program, prompt: Prompt) -> None:
        for number in range(1, self._asking.retries + 2):
            attempt = self._attempt(program, prompt, number)
            if self._is_stopped.is_set() and attempt.status == FAILED:
                return  # the program was ended on purpose
            self._record.add(attempt)
            if attempt.status != FAILED:
                break
            pause = min(self._asking.pause * 2 ** (number - 1), LONGEST_PAUSE)
            if number <= self._asking.retries and self._is_stopped.wait(pause):
                return
        with self._lock:
            if attempt.status == FAILED:
                self.n_failed += 1
                self._n_failed_in_a_row += 1
                self.problems[attempt.problem] = self.problems.get(attempt.problem, 0) + 1
            elif not self.has_given_up:
                self._n_failed_in_a_row = 0
        if self.has_given_up:
            self._is_stopped.set()
        self._advance()

    def _attempt(self, program: Program, prompt: Prompt, number: int) -> Attempt:
        message, begin = prompt.message(), time.monotonic()
        received: str | None = None
        others: list[str] = []
        chosen: tuple[int, ...] = ()
        try:
            received, others = program.ask(
                message, lambda line: parse_reply(line, prompt) is not None, self._asking.timeout
            )
        except ProgramError as error:
            status, problem = FAILED, str(error)
        else:
            reply = parse_reply(received, prompt)
            assert reply is not None
            status = FAILED if reply.is_error else ANSWERED if reply.chosen else UNCLEAR
            chosen, problem = reply.chosen, reply.problem
        seconds = round(time.monotonic() - begin, 3)
        return Attempt(prompt.number, number, status, chosen, problem, message, received, others, seconds)


def comparisons_of(
    outcome: Outcome,
    prompts: Sequence[Prompt],
    sets: Sequence[QuestionSet],
    names: tuple[str, ...],
    width: int = 3,
) -> Comparisons:
    """Return the answers as comparisons; unclear and failed questions are left out."""
    prompt_of = {prompt.number: prompt for prompt in prompts}
    parts = []
    for one in sets:
        answered = np.array([int(number) in outcome.answers for number in one.numbers])
        questions = one.take(answered)
        n_pairs = questions.pairs.shape[1]
        order = np.empty((len(questions.numbers), n_pairs), dtype=np.int64)
        for row, number in enumerate(questions.numbers.tolist()):
            chosen = [prompt_of[number].pairs[place] for place in outcome.answers[number]]
            order[row] = [*chosen, *(pair for pair in range(n_pairs) if pair not in chosen)]
        parts.append(implied_comparisons(questions, order))
    return joined_answers(parts, len(names), names, width)
