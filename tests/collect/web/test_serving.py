"""`closerthan collect serve` as a process."""

import http.client
import json
import re
import shutil
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
from closerthan.collect.web.application import RESCUED
from closerthan.collect.web.serving import DatabaseLostError

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-c", "from closerthan.cli import main; main()", "collect", "serve"]
ME = {"Authorization": f"Bearer {KEY}"}


class Process:
    """A server process, whose port is read from its output."""

    def __init__(self, folder, port=0, host="127.0.0.1"):
        command = [*COMMAND, str(folder), "--host", host, "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.output = ""
        while "Ctrl-C" not in self.output:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.output += line
        self.port = int(re.search(rf"participants +http://{re.escape(host)}:(\d+)/", self.output)[1])

    def ask(self, method, path, body=None, headers=ME):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        content = json.loads(reply.read())
        connection.close()
        return content

    def end(self, how):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.mark.parametrize(("how", "host"), [(signal.SIGTERM, "127.0.0.1"), (signal.SIGINT, "localhost")])
def test_the_server_prints_its_addresses_and_stops_even_with_an_open_event_stream(folder, how, host):
    server = Process(folder, host=host)
    token = (folder / "researcher-token.txt").read_text().strip()
    assert token not in server.output  # it would end up in the log of a service
    assert "researcher/\n" in server.output
    assert "First steps:" in server.output
    assert "work only on this computer" in server.output
    assert "study.toml: the consent text still contains NAME, E-MAIL ADDRESS." in server.output
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


def test_after_kill_9_the_next_server_has_all_acknowledged_answers(folder):
    server = Process(folder)
    consent = server.ask("GET", "/study")["version"]
    state = server.ask("POST", "/join", {"consent": consent, "address": {}})
    for _ in range(5):
        question = state["questions"][0]["id"]
        state = server.ask("POST", "/answer", {"question": question, "choice": 1, "rt_ms": 1})
    server.end(signal.SIGKILL)
    again = Process(folder, server.port)
    # The last reply may have been lost: repeating the answer gives the same reply and stores nothing.
    assert again.ask("POST", "/answer", {"question": question, "choice": 1, "rt_ms": 1}) == state
    again.end(signal.SIGTERM)
    with Store(folder / FILE) as store:
        assert store.value("SELECT count(*) FROM answers") == 5


def remove(folder):
    for file in folder.glob("answers.sqlite*"):
        file.unlink()


def replace(folder):
    remove(folder)
    Store(folder / FILE).close()


def remove_the_log(folder):
    (folder / "answers.sqlite-wal").unlink()


@pytest.mark.parametrize(("name", "sentence"), [(RESCUED, f"rename it to {FILE}"), (FILE, "restore a backup")])
def test_a_study_whose_database_was_lost_does_not_begin_again_without_its_answers(folder, name, sentence):
    (folder / name).touch()
    result = CliRunner().invoke(app, ["collect", "serve", str(folder), "--port", "0"])
    assert result.exit_code == DatabaseLostError.exit_status
    assert sentence in " ".join(result.output.split())
    assert not (folder / FILE).exists() or not (folder / FILE).stat().st_size


def test_of_several_studies_all_must_be_lost_for_the_exit_status_that_prevents_a_restart(folder):
    other = Path(shutil.copytree(folder, folder.parent / "other"))
    words = ["collect", "serve", str(folder), str(other), "--port", "0"]
    for lost in (folder, other):
        (lost / FILE).touch()
    assert CliRunner().invoke(app, words).exit_code == DatabaseLostError.exit_status
    (other / "study.toml").write_text("")  # this study could be served again after its description is repaired
    assert CliRunner().invoke(app, words).exit_code == 2


@pytest.mark.parametrize("damage", [remove, replace, remove_the_log])
def test_the_server_stops_with_an_error_if_the_database_is_removed_or_replaced(folder, damage):
    server = Process(folder)
    state = server.ask("POST", "/join", {"consent": server.ask("GET", "/study")["version"], "address": {}})
    body = {"question": state["questions"][0]["id"], "choice": 1, "rt_ms": 1}
    server.ask("POST", "/answer", body)
    damage(folder)
    _, err = server.process.communicate(timeout=60)
    assert server.process.returncode == DatabaseLostError.exit_status
    assert "was removed, replaced or overwritten while the study was running" in " ".join(err.split())
    with Store(folder / RESCUED) as store:
        assert store.value("SELECT count(*) FROM answers") == 1


def test_the_server_stops_with_an_error_if_a_backup_is_copied_over_the_database(folder):
    server = Process(folder)
    server.ask("GET", "/study")  # the server has opened the database
    with Store(folder / FILE) as store:
        store.backup(folder / "backup.sqlite")
    (folder / FILE).write_bytes((folder / "backup.sqlite").read_bytes())  # the file itself stays the same
    _, err = server.process.communicate(timeout=60)
    assert server.process.returncode == DatabaseLostError.exit_status
    assert "was removed, replaced or overwritten while the study was running" in " ".join(err.split())


def test_a_thousand_half_sent_requests_do_not_make_the_server_deaf(folder):
    server = Process(folder)
    half_sent = []
    for _ in range(1010):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        connection.sendall(b"POST /join HTTP/1.1\r\nHost: x\r\n")
        half_sent.append(connection)
    assert server.ask("GET", "/study")["title"] == "study"
    for connection in half_sent:
        connection.close()
    assert server.end(signal.SIGTERM)[0] == 0


def test_a_separate_process_fills_the_queue(folder):
    server = Process(folder)
    with Store(folder / FILE) as store:
        while not store.value("SELECT count(*) FROM queue"):
            assert server.process.poll() is None
        assert store.value("SELECT count(DISTINCT first) FROM queue") == 10
    server.end(signal.SIGTERM)


def test_a_port_in_use_is_reported_with_an_alternative(folder):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = CliRunner().invoke(app, ["collect", "serve", str(folder), "--port", str(port)])
    assert result.exit_code == 2
    assert f"try --port {port + 1}" in result.output


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (["--host", "no such host"], "--host must be an address of this computer"),
        (["--address", "lab.example.org"], "as in https://lab.example.org"),
    ],
)
def test_impossible_addresses_are_reported(folder, option, sentence):
    result = CliRunner().invoke(app, ["collect", "serve", str(folder), *option])
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


def test_without_the_extra_the_error_says_what_to_install(folder):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[1:] = ['collect', 'serve', sys.argv[1]];"
        "from closerthan.cli import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "pip install 'closerthan[collect]'" in result.stderr


def test_only_the_commands_that_serve_need_the_web_server(tmp_path):
    code = (
        "import sys; from closerthan.cli import app; from closerthan.collect.store import export, progress;"
        "from closerthan.collect.choosing import refit;"
        "assert not {'starlette', 'uvicorn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(tmp_path))
