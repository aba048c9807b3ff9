"""`closerthan collect serve` as a process."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from studies import KEY

pytest.importorskip("uvicorn", reason="a server needs uvicorn")

from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.new import make_study

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-c", "from closerthan.cli import main; main()", "collect", "serve"]
ME = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def folder(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("text\n" + "".join(f"word {number}\n" for number in range(10)))
    make_study(tmp_path / "study", words)
    return tmp_path / "study"


class Process:
    """A server; its port is the one that it says."""

    def __init__(self, folder, port=0):
        self.process = subprocess.Popen(
            [*COMMAND, str(folder), "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.said += line
        self.port = int(re.search(r"participants +http://127\.0\.0\.1:(\d+)/", self.said)[1])

    def ask(self, method, path, body=None, headers=ME):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        found = json.loads(reply.read())
        connection.close()
        return found

    def end(self, how):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_stops_when_asked_even_while_somebody_watches(folder, how):
    server = Process(folder)
    token = (folder / "researcher-token.txt").read_text().strip()
    assert f"researcher/#{token}" in server.said
    assert "First steps:" in server.said
    watching = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    watching.request("GET", "/researcher/events", headers={"Authorization": f"Bearer {token}"})
    assert watching.getresponse().readline() == b"event: state\n"
    code, _, err = server.end(how)
    watching.close()
    assert (code, err) == (0, "stopped; all answers are saved\n")


def test_a_second_server_on_the_same_study_refuses_to_start(folder):
    server = Process(folder)
    second = subprocess.run([*COMMAND, str(folder), "--port", "0"], capture_output=True, text=True, check=False)
    server.end(signal.SIGTERM)
    assert second.returncode == 2
    assert "is already being served; stop that server first" in second.stderr


def test_after_kill_9_the_next_server_goes_on_with_all_that_was_acknowledged(folder):
    server = Process(folder)
    consent = server.ask("GET", "/study")["version"]
    state = server.ask("POST", "/join", {"consent": consent, "address": {}})
    for _ in range(5):
        question = state["questions"][0]["id"]
        state = server.ask("POST", "/answer", {"question": question, "choice": 1, "rt_ms": 1})
    server.end(signal.SIGKILL)
    again = Process(folder, server.port)
    # The last reply may have been lost: the same answer again is the same reply, and kept once.
    assert again.ask("POST", "/answer", {"question": question, "choice": 1, "rt_ms": 1}) == state
    again.end(signal.SIGTERM)
    with Store(folder / FILE) as store:
        assert store.value("SELECT count(*) FROM answers") == 5


def test_the_queue_is_filled_by_a_process_of_its_own(folder):
    server = Process(folder)
    with Store(folder / FILE) as store:
        while not store.value("SELECT count(*) FROM queue"):
            assert server.process.poll() is None
        assert store.value("SELECT count(DISTINCT first) FROM queue") == 10
    server.end(signal.SIGTERM)


def test_a_port_that_is_taken_is_named_with_another(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["collect", "serve", str(folder), "--port", str(port)])
    assert done.exit_code == 2
    assert f"try --port {port + 1}" in done.output


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (["--host", "no such host"], "--host must be an address of this computer"),
        (["--address", "lab.example.org"], "as in https://lab.example.org"),
    ],
)
def test_addresses_that_cannot_be_are_named(folder, option, sentence):
    done = CliRunner().invoke(app, ["collect", "serve", str(folder), *option])
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_without_the_extra_it_says_what_to_install(folder):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[1:] = ['collect', 'serve', sys.argv[1]];"
        "from closerthan.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'closerthan[collect]'" in done.stderr


def test_only_the_commands_that_serve_need_the_web_server(tmp_path):
    code = (
        "import sys; from closerthan.cli import app; from closerthan.collect.store import export, progress;"
        "from closerthan.collect.choosing import refit;"
        "assert not {'starlette', 'uvicorn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(tmp_path))
