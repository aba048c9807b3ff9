"""The command line in processes of its own: killed, interrupted, two at once."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app

OURS = {**os.environ, "PYTHONPATH": str(Path(ct.__file__).parents[1]), "COLUMNS": "80"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")

# The program of each process says what happens to it and when, so no test depends on time.
RUN = "from closerthan.cli import main; main()"
EVERY_EPOCH = """
from closerthan.fit import checkpoint
checkpoint.Checkpoint.__init__.__kwdefaults__["seconds"] = 0.0
checkpoint.WRITING_FRACTION = 1.0
"""
AT_EPOCH = """
import os, signal
from closerthan.fit.monitor import Monitor
_report = Monitor.__call__
def report(self, *arguments, **options):
    stop = _report(self, *arguments, **options)
    if len(self.history) == {epoch} + 1:
        os.kill(os.getpid(), signal.{signal})
    return stop
Monitor.__call__ = report
"""
HALF_WAY_THROUGH_A_CHECKPOINT = """
import os, signal
import numpy as np
_savez, _written = np.savez, []
def savez(file, **arrays):
    _written.append(file)
    if len(_written) == 6:
        file.write(b"PK, and then nothing")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    _savez(file, **arrays)
np.savez = savez
"""


@pytest.fixture
def folder(tmp_path):
    data = ct.datasets.synthetic(15, 2, 600, 1, flipped=0.1, seed=3)
    ct.files.write_comparisons(data.train, tmp_path / "answers.csv")
    return tmp_path


def started(folder, *words, before=""):
    return subprocess.Popen(
        [sys.executable, "-c", before + RUN, *map(str, words)],
        cwd=folder,
        env=OURS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def fit(folder, *words, before=""):
    return ended(
        started(
            folder,
            "fit",
            "answers.csv",
            "--loss",
            "ste",
            "--penalty",
            "0",
            "--held-out",
            0,
            "--no-report",
            *words,
            before=before,
        )
    )


def fit_here(folder, *words):
    """Do the same in this process, which starts sooner."""
    with contextlib.chdir(folder):
        words = [
            "fit",
            "answers.csv",
            "--loss",
            "ste",
            "--penalty",
            "0",
            "--held-out",
            "0",
            "--no-report",
            *map(str, words),
        ]
        done = CliRunner().invoke(app, words)
    return done.exit_code, done.stdout, done.stderr


LONG = ("--epochs", 25, "--tolerance", "none")


class TestKilled:
    @pytest.mark.slow
    @pytest.mark.parametrize("penalty", [0, "auto"])
    @pytest.mark.parametrize(
        "blow", [EVERY_EPOCH + AT_EPOCH.format(epoch=9, signal="SIGKILL"), EVERY_EPOCH + HALF_WAY_THROUGH_A_CHECKPOINT]
    )
    def test_a_resumed_fit_writes_the_same_bytes(self, blow, penalty, folder):
        options = (*LONG, "--penalty", penalty, "--checkpoint", "state")
        code, _, _ = fit(folder, *options, before=blow)
        assert code == -signal.SIGKILL
        assert (folder / "state").exists()
        assert not (folder / "answers-map").exists()

        code, _, errors = fit_here(folder, *options, "--resume")
        assert code == 0
        assert "resuming from state" in errors
        assert sorted(path.name for path in folder.iterdir()) == ["answers-map", "answers.csv"]

        alone = ct.embed(
            ct.read_comparisons(folder / "answers.csv"), loss="ste", penalty=penalty, seed=0, epochs=25, tolerance=None
        )
        embedding, _ = ct.files.read_map(folder / "answers-map" / "map.csv")
        assert np.array_equal(embedding, alone.embedding)

    @pytest.mark.slow
    def test_several_starts_go_on_too(self, folder):
        options = (*LONG, "--penalty", 0, "--starts", 3, "--validation", 0.2, "--checkpoint", "state")
        blow = EVERY_EPOCH + AT_EPOCH.format(epoch=9, signal="SIGKILL")
        assert fit(folder, *options, before=blow)[0] == -signal.SIGKILL
        assert fit_here(folder, *options, "--resume")[0] == 0
        alone = ct.embed(
            ct.read_comparisons(folder / "answers.csv"),
            loss="ste",
            penalty=0,
            seed=0,
            epochs=25,
            tolerance=None,
            n_starts=3,
            validation=0.2,
        )
        assert np.array_equal(ct.files.read_map(folder / "answers-map" / "map.csv")[0], alone.embedding)

    def test_a_checkpoint_of_another_fit_is_refused(self, folder):
        answers = ct.read_comparisons(folder / "answers.csv")
        ct.embed(answers, loss="ste", penalty=0, seed=0, epochs=25, tolerance=None, checkpoint=folder / "state")
        options = (*LONG, "--penalty", 0, "--checkpoint", "state")
        code, _, errors = fit_here(folder, *options, "--resume", "--seed", 1)
        assert code == 2
        assert "the checkpoint state belongs to another fit (seed was 0 and is 1)" in errors
        code, _, errors = fit_here(folder, *options)
        assert code == 2
        assert "exists; resume from it" in errors

    def test_resuming_without_a_checkpoint_starts_a_new_fit(self, folder):
        code, _, errors = fit_here(folder, "--checkpoint", "state", "--resume")
        assert code == 0
        assert "there is no state yet; starting from the beginning" in errors


class TestInterrupted:
    @pytest.mark.slow
    def test_ctrl_c_saves_the_best_map_so_far_and_says_so(self, folder):
        code, output, errors = fit(
            folder, "--epochs", 10**6, "--tolerance", "none", before=AT_EPOCH.format(epoch=9, signal="SIGINT")
        )
        assert code == 130
        assert "interrupted: the best map so far was saved" in errors
        assert "Traceback" not in errors
        assert "answers-map/map.csv" in output
        result = ct.Result.load(folder / "answers-map" / "result.npz")
        assert result.stopped_by == "interrupted"
        assert len(result.history) >= 10

    @pytest.mark.slow
    def test_ctrl_c_keeps_the_checkpoint_to_go_on_from(self, folder):
        options = (*LONG, "--penalty", 0, "--checkpoint", "state")
        code, _, errors = fit(folder, *options, before=AT_EPOCH.format(epoch=9, signal="SIGINT"))
        assert code == 130
        assert "--resume --force continues from it" in errors
        assert fit_here(folder, *options, "--resume", "--force")[0] == 0
        alone = ct.embed(
            ct.read_comparisons(folder / "answers.csv"), loss="ste", penalty=0, seed=0, epochs=25, tolerance=None
        )
        assert np.array_equal(ct.files.read_map(folder / "answers-map" / "map.csv")[0], alone.embedding)

    @pytest.mark.slow
    def test_ctrl_c_before_there_is_a_map_writes_nothing(self, folder):
        before = (
            "import os, signal, closerthan.files as files\n"
            "files.read_answers = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        )
        code, _, errors = fit(folder, before=before)
        assert code == 130
        assert "interrupted: nothing was written" in errors
        assert "Traceback" not in errors
        assert [path.name for path in folder.iterdir()] == ["answers.csv"]


@pytest.mark.slow
def test_of_two_fits_into_one_folder_one_wins_and_the_other_says_so(folder):
    both = [started(folder, "fit", "answers.csv", "--no-report", "--out", "map") for _ in range(2)]
    ends = sorted(ended(process) for process in both)
    assert [code for code, *_ in ends] == [0, 2]
    loser = ends[1][2]
    assert "map exists" in loser or "another process" in loser
    assert ct.Result.load(folder / "map" / "result.npz").embedding.shape == (15, 2)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&-", pytest.param("<&- >&- 2>&-", marks=pytest.mark.slow)])
def test_a_map_is_written_even_if_the_output_is_closed(closed, folder):
    words = [
        sys.executable,
        "-c",
        RUN,
        "fit",
        "answers.csv",
        "--loss",
        "ste",
        "--penalty",
        "0",
        "--held-out",
        "0",
        "--no-report",
    ]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], cwd=folder, env=OURS, check=False)
    assert done.returncode == 0
    assert ct.Result.load(folder / "answers-map" / "result.npz").embedding.shape == (15, 2)


@pytest.mark.slow
def test_an_error_has_exit_code_2_and_a_traceback_on_request_alone(folder):
    code, output, errors = ended(started(folder, "fit", "nothing.csv"))
    assert (code, output, errors) == (2, "", "error: there is no file nothing.csv\n")
    code, _, errors = ended(started(folder, "fit", "nothing.csv", "--debug"))
    assert code != 0
    assert "Traceback" in errors


def test_a_closed_pipe_is_not_an_error(folder):
    process = started(folder, "info", "answers.csv")
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors
    assert "Exception" not in errors


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("NUMBA_DISABLE_JIT", "1", "error: NUMBA_DISABLE_JIT is set, but closerthan needs numba"),
        ("MPLBACKEND", "nonsense", "error: the environment variable MPLBACKEND is 'nonsense'"),
    ],
)
def test_an_environment_that_cannot_work_is_reported_before_the_answers_are_read(variable, value, message, tmp_path):
    (tmp_path / "answers.csv").write_text("0,1,2\n1,0,2\n2,1,0\n")
    command = [sys.executable, "-m", "closerthan", "fit", "answers.csv", "--loss", "ste", "--penalty", "0"]
    done = subprocess.run(
        command, cwd=tmp_path, env=OURS | {variable: value}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(message)
