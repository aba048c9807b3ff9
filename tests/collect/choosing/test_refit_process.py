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


def problem_after(before, refits):
    """Return the problem as soon as it differs from the one before."""
    wait_until(lambda: refits.problem != before)
    return refits.problem


def test_a_process_that_cannot_be_started_is_a_problem_and_not_an_error(tmp_path):
    program = tmp_path / "program"
    refits = RefitProcess(tmp_path, 2, [str(program)])
    refits.start()
    assert "cannot be started" in problem_after("", refits)
    program.write_text(f"#!{sys.executable}\nfor _ in open(0):\n    print(7, flush=True)\n")
    program.chmod(0o700)
    before = refits.problem
    refits.answered()
    refits.answered()
    assert problem_after(before, refits) == ""
    refits.stop()


def test_an_answer_never_waits_for_the_process_to_start(tmp_path, monkeypatch):
    started, may_start = threading.Event(), threading.Event()

    def slow(*_, **__):
        started.set()
        may_start.wait(30)
        raise MemoryError

    monkeypatch.setattr(subprocess, "Popen", slow)
    refits = RefitProcess(tmp_path, 1)
    refits.start()
    assert started.wait(30)
    refits.answered()
    refits.renew()
    may_start.set()
    assert "cannot be started (no memory)" in problem_after("", refits)
    refits.stop()


def test_a_refit_that_fails_is_reported_and_the_next_one_that_succeeds_clears_it(tmp_path):
    text = "print('failed: ValueError: no' if not sys.argv[2:] else 7, flush=True); sys.argv.append('again')"
    refits = RefitProcess(tmp_path, 1, program(text))
    refits.start()
    assert problem_after("", refits) == "ValueError: no"
    refits.answered()
    assert problem_after("ValueError: no", refits) == ""
    refits.stop()


def test_an_exclusion_during_a_refit_is_followed_by_another_refit(tmp_path):
    log = tmp_path / "refits"
    text = f"open({str(log)!r}, 'a').write('x'); print(1_000_000, flush=True)"
    refits = RefitProcess(tmp_path, 1, program(text))
    refits.start()
    refits.renew()  # the first refit has only just begun; after it, the next one would be due after 20,000 answers
    wait_until(lambda: log.exists() and log.read_text() == "xx")
    refits.stop()


def test_a_process_that_dies_is_reported_and_started_again(tmp_path):
    refits = RefitProcess(tmp_path, 1, program("sys.exit(3)"))
    refits.start()
    assert "ended with status 3" in problem_after("", refits)
    refits.answered()
    refits.stop()


def test_a_process_that_dies_between_two_refits_is_started_again(tmp_path):
    log = tmp_path / "refits"
    text = f"open({str(log)!r}, 'a').write('x'); print(1, flush=True); sys.exit(3)"
    refits = RefitProcess(tmp_path, 1, program(text))
    refits.start()
    wait_until(lambda: refits.answered() or (log.exists() and len(log.read_text()) > 2))
    refits.stop()


def test_a_refit_that_does_not_end_is_killed_with_the_server(tmp_path):
    refits = RefitProcess(tmp_path, 1, program("import time; open(sys.argv[1] + '/begun', 'w'); time.sleep(600)"))
    refits.start()
    wait_until((tmp_path / "begun").exists)
    refits.stop()
    assert not refits.problem


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
