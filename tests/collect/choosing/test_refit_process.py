import subprocess
import sys
import threading

import pytest
from studies import study_folder

from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.database import FILE, Store


def program(text):
    return [sys.executable, "-c", f"import sys\nfor line in sys.stdin:\n    {text}"]


def wait_until(condition):
    never = threading.Event()
    for _ in range(3000):
        if condition():
            return
        never.wait(0.01)
    raise AssertionError("not within 30 seconds")


def problem_of(refits):
    """Wait until the refit that was requested has succeeded or failed, and return the problem."""
    is_problem = bool(refits.problem)
    wait_until(lambda: bool(refits.problem) != is_problem)
    return refits.problem


def test_a_process_that_cannot_be_started_is_a_problem_and_not_an_error(tmp_path):
    refits = RefitProcess(tmp_path, 2, [str(tmp_path / "no such program")])
    refits.request()
    assert "cannot be started" in refits.problem
    for _ in range(5):
        refits.answered()
    refits.stop()


def test_a_refit_that_fails_is_reported_and_the_next_one_that_succeeds_clears_it(tmp_path):
    text = "print('failed: ValueError: no' if not sys.argv[2:] else 7, flush=True); sys.argv.append('again')"
    refits = RefitProcess(tmp_path, 1, program(text))
    refits.request()
    assert problem_of(refits) == "ValueError: no"
    refits.answered()
    assert problem_of(refits) == ""
    refits.stop()


def test_an_exclusion_during_a_refit_is_followed_by_another_refit(tmp_path):
    log = tmp_path / "refits"
    text = f"open({str(log)!r}, 'a').write('x'); print(1_000_000, flush=True)"
    refits = RefitProcess(tmp_path, 1, program(text))
    refits.request()
    refits.renew()  # the first refit has only just begun; after it, the next one would be due after 20,000 answers
    wait_until(lambda: log.exists() and log.read_text() == "xx")
    refits.stop()


def test_a_process_that_dies_is_reported_and_started_again(tmp_path):
    refits = RefitProcess(tmp_path, 1, program("sys.exit(3)"))
    refits.request()
    assert "ended with status 3" in problem_of(refits)
    refits.answered()
    refits.stop()


@pytest.mark.slow
def test_the_process_survives_a_refit_that_fails_and_says_why(tmp_path):
    folder = study_folder(tmp_path)
    command = [sys.executable, "-m", "closerthan.collect.choosing.refit", str(folder)]
    with Store(folder / FILE) as store:
        store.change("INSERT INTO maps (version, made_at, answers, places, judgement) VALUES (1, 0, 0, '[]', '{')")
    process = subprocess.run(command, input="\n\n", capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0
    first, second = process.stdout.splitlines()
    assert first.startswith("failed: ")
    assert first == second
    assert "Traceback" in process.stderr
