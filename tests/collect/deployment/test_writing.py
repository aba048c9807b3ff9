"""The files with which a server runs a study, checked by the programs that read them where these are installed."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess

import pytest
from studies import study_folder
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.deployment.writing import Deployment, write_deployment

ADDRESS = "https://lab.example.org/animals/"


@pytest.fixture(params=[1, 2], ids=["one study", "two studies"])
def written(request, tmp_path):
    folders = [study_folder(tmp_path)]
    if request.param == 2:
        folders.append(shutil.copytree(folders[0], tmp_path / "faces"))
    write_deployment(Deployment(folders, ADDRESS, 8123, "daemon"), tmp_path / "deploy")
    return tmp_path / "deploy"


def unit_of(written):
    (unit,) = written.glob("*.service")
    return unit


def test_the_command_writes_all_files_and_replaces_them_only_if_told_to(tmp_path):
    folder = study_folder(tmp_path)
    words = ["collect", "deploy", str(folder), "--address", ADDRESS]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    names = {path.name for path in (folder / "deploy").iterdir()}
    others = {"Dockerfile", "compose.yaml", "nginx-http.conf", "nginx-server.conf", "Caddyfile"}
    assert names == {"closerthan-study.service", *others}
    assert CliRunner().invoke(app, words).exit_code != 0
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0
    shutil.copytree(folder, tmp_path / "faces")
    words.insert(3, str(tmp_path / "faces"))
    assert CliRunner().invoke(app, words).exit_code == 0
    assert {path.name for path in (tmp_path / "deploy").iterdir()} == {"closerthan-study-faces.service", *others}
    (tmp_path / "faces" / "study.toml").write_text("")
    assert "title is missing" in CliRunner().invoke(app, [*words, "--force"]).output


def nginx(written, port):
    """The command that starts nginx with the snippets, and with logs of everything else."""
    config, snippet = written / "nginx.conf", written / "nginx-server.conf"
    snippet.write_text(snippet.read_text().replace(":8123/", ":9/"))  # a port on which nothing listens
    config.write_text(
        f"""pid {written}/nginx.pid;
daemon off;
error_log {written}/error.log info;
events {{}}
http {{
    access_log {written}/access.log;
    client_body_temp_path {written}/body; proxy_temp_path {written}/proxy; fastcgi_temp_path {written}/fastcgi;
    uwsgi_temp_path {written}/uwsgi; scgi_temp_path {written}/scgi;
    include {written}/nginx-http.conf;
    server {{ listen 127.0.0.1:{port}; server_name lab.example.org; include {written}/nginx-server.conf;
        location / {{ return 204; }} }}
}}
"""
    )
    return ["nginx", "-p", str(written), "-e", str(written / "error.log"), "-c", str(config)]


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_accepts_the_snippets_and_logs_no_participants(written):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = nginx(written, port)
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr.replace('the "user" directive', "")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            # The server behind nginx is missing, which is an error that it would log.
            assert status(process, port, "/animals/?PROLIFIC_PID=5f1a") == 502
            assert status(process, port, "/animals?PROLIFIC_PID=5f1a") == 301
            assert status(process, port, "/others") == 204
        finally:
            process.terminate()
    logs = (written / "access.log").read_text() + (written / "error.log").read_text()
    assert "GET /others" in logs
    assert "5f1a" not in logs


def status(process, port, path):
    """Return the status of a reply, as soon as the server listens."""
    while process.poll() is None:
        with (
            contextlib.suppress(ConnectionRefusedError),
            contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection,
        ):
            connection.request("GET", path)
            return connection.getresponse().status
    raise AssertionError("the server has stopped")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(written, tmp_path):
    unit = unit_of(written)
    text = re.sub(r'ExecStart="[^"]*"', f'ExecStart="{shutil.which("env")}"', unit.read_text())
    unit.write_text(text)  # the program may not be installed where a unit may start it
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    checked = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    assert checked.returncode == 0, checked.stderr
    assert unit.name not in checked.stderr, checked.stderr  # complaints name the file


def test_a_server_that_lost_its_database_is_not_started_again(written):
    serving = pytest.importorskip("closerthan.collect.web.serving", reason="a server needs uvicorn")
    line = f"\nRestartPreventExitStatus={serving.DatabaseLostError.exit_status}\n"
    assert line in unit_of(written).read_text()


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
def test_caddy_accepts_its_file(written):
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(written / "Caddyfile")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
def test_caddy_logs_no_participants(written, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = written / "Caddyfile"
    text = config.read_text().replace("{\n", "{\n\tadmin off\n", 1).replace(":8123", ":9")  # nothing listens there
    config.write_text(text.replace("lab.example.org {", f"http://127.0.0.1:{port} {{"))
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)]
    with (
        open(tmp_path / "log", "wb") as log,
        subprocess.Popen(command, stderr=log, env={**os.environ, "HOME": str(tmp_path)}) as process,
    ):
        try:
            assert status(process, port, "/animals/?PROLIFIC_PID=5f1a") == 502
            assert status(process, port, "/animals?PROLIFIC_PID=5f1a") == 302
        finally:
            process.terminate()
    text = (tmp_path / "log").read_text()
    assert "serving initial configuration" in text
    assert "5f1a" not in text
    assert "remote_ip" not in text


def test_the_dockerfile_runs_the_server_as_an_ordinary_user(written):
    text = (written / "Dockerfile").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    instructions = [line.split(maxsplit=1) for line in lines]
    known = {"FROM", "RUN", "USER", "WORKDIR", "ENV", "EXPOSE", "STOPSIGNAL", "CMD"}
    assert {name for name, _ in instructions} <= known
    assert instructions[0][0] == "FROM"
    assert ":" in instructions[0][1]  # a version
    values = dict(instructions)
    assert values["USER"] not in ("root", "0")
    command = json.loads(values["CMD"])  # without a shell, so that the server receives the signal to stop
    assert command[:3] == ["closerthan", "collect", "serve"]
    folders = command[3 : command.index("--host")]
    assert "--behind-proxy" in command  # within a container, the web server has an address of the private network
    assert folders in (["/studies"], ["/studies/study", "/studies/faces"])
    assert all(f'{folder}"' in (written / "compose.yaml").read_text() for folder in folders)
    assert command[-1] == ADDRESS


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing_in_the_dockerfile(written):
    checked = subprocess.run(["hadolint", written / "Dockerfile"], capture_output=True, text=True, check=False)
    assert checked.stdout == ""
    assert checked.returncode == 0


def test_compose_keeps_the_port_on_this_computer(written):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (service,) = yaml.safe_load((written / "compose.yaml").read_text())["services"].values()
    assert service["ports"] == ["127.0.0.1:8123:8000"]
    assert service["volumes"][0].split("/study:")[1] in ("/studies", "/studies/study")


def test_the_files_agree_about_address_port_and_limits(written):
    texts = {path.name: path.read_text() for path in written.iterdir()}
    assert not any("${" in text for text in texts.values())
    for name in ("nginx-server.conf", "Caddyfile"):
        assert "127.0.0.1:8123" in texts[name]
        assert "/animals/" in texts[name]
    unit = unit_of(written).read_text()
    assert '/study"' in unit
    assert f"--port 8123 --address {ADDRESS}" in unit
    for name in ("nginx-http.conf", "nginx-server.conf"):
        assert "closerthan-study" in texts[name]
    assert texts["Caddyfile"].count("{") == texts["Caddyfile"].count("}")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"address": "http://lab.example.org/"}, "must start with https://"),
        ({"address": "https://lab.example.org/a;b/"}, "path of letters"),
        ({"address": "https://lab.example.org/?a=1"}, "path of letters"),
        ({"address": "https://lab example/"}, "must start with https://"),
        ({"user": "root;reboot"}, "must be the name of a user"),
    ],
)
def test_values_that_are_not_safe_in_the_files_are_refused(tmp_path, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Deployment(**{"folders": [tmp_path], "address": ADDRESS, **change}).values()


def test_a_path_that_is_not_safe_in_the_files_is_refused(tmp_path):
    (tmp_path / 'a"b').mkdir()
    with pytest.raises(ValueError, match="not safe in all of the files"):
        Deployment([tmp_path / 'a"b'], ADDRESS).values()


def test_folders_with_the_same_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="two folders have the name b"):
        Deployment([tmp_path / "a" / "b", tmp_path / "b"], ADDRESS).values()
