import asyncio
import contextlib
import dataclasses
import http.client
import io
import json
import re
import stat
import threading
import zipfile

import pytest
from studies import KEY, picture, study_of

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.participants import exclude
from closerthan.collect.study.description import read_study
from closerthan.collect.study.new import make_study
from closerthan.collect.study.stimuli import Stimulus
from closerthan.collect.web.researcher import Researcher

ME = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def client(tmp_path):
    with serving(study_of(tmp_path, skip=True)) as client:
        yield client


def join(client, key=KEY):
    consent = client.get("/study").json()["version"]
    reply = client.post("/join", json={"consent": consent, "address": {}}, headers={"Authorization": f"Bearer {key}"})
    assert reply.status_code == 200
    return reply.json()


def answer(client, question, choice=0, key=KEY, **more):
    body = {"question": question, "choice": choice, "rt_ms": 500, **more}
    return client.post("/answer", json=body, headers={"Authorization": f"Bearer {key}"})


def test_refused_requests_have_the_right_status(client):
    first, second = join(client)["questions"]
    join(client, "b" * 32)
    assert answer(client, first["id"]).status_code == 200
    assert answer(client, first["id"]).status_code == 200  # repeated
    statuses = {
        "answered otherwise": answer(client, first["id"], 1),
        "foreign": answer(client, second["id"], key="b" * 32),
        "forged": answer(client, "made-up"),
        "unknown person": answer(client, second["id"], key="c" * 32),
        "no key": client.post("/answer", json={}),
        "no choice": answer(client, second["id"], "left"),
        "oversized": answer(client, second["id"], padding="x" * 5000),
        "not JSON": client.post("/answer", content=b"{", headers=ME),
        "not an object": client.post("/answer", content=b"[]", headers=ME),
        "deep": client.post("/answer", content=b"[" * 4000, headers=ME),
        "half a character": client.post("/answer", content=b'{"question": "\\ud800"}', headers=ME),
        "half a character in an id": client.post("/join", json={"address": {"PROLIFIC_PID": "\ud800"}}, headers=ME),
        "wrong method": client.get("/answer", headers=ME),
        "wrong address": client.post("/join", json={"address": [1]}, headers=ME),
    }
    assert {what: reply.status_code for what, reply in statuses.items()} == {
        "answered otherwise": 409,
        "foreign": 403,
        "forged": 404,
        "unknown person": 401,
        "no key": 401,
        "no choice": 422,
        "oversized": 413,
        "not JSON": 400,
        "not an object": 400,
        "deep": 400,
        "half a character": 400,
        "half a character in an id": 400,
        "wrong method": 405,
        "wrong address": 422,
    }


def joins(client, number, consent, caller):
    """Let several people join from one address, and return the last status."""
    for one in range(number):
        headers = {"Authorization": f"Bearer {caller}-{one:020d}", "X-Forwarded-For": f"spoofed, {caller}"}
        reply = client.post("/join", json={"consent": consent, "address": {}}, headers=headers)
    return reply.status_code


@pytest.mark.slow
def test_neither_refused_joins_nor_those_of_one_computer_keep_others_out(tmp_path):
    with serving(study_of(tmp_path), clock=lambda: 0.0) as client:
        consent = client.get("/study").json()["version"]
        assert joins(client, 310, "another text", "first") == 409
        assert joins(client, 300, consent, "first") == 200
        assert joins(client, 301, consent, "second") == 429
        assert joins(client, 1, consent, "third") == 200


def first_event(client, token):
    """Return the state that the researcher's page receives first."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.request("GET", "/researcher/events", headers={"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    assert reply.readline() == b"event: state\n"
    state = json.loads(reply.readline().removeprefix(b"data: "))
    reply.close()
    connection.close()
    return state


def test_answers_are_accepted_and_the_researcher_is_told_if_refits_cannot_start(tmp_path):
    study = study_of(tmp_path)
    refits = RefitProcess(tmp_path, 1, [str(tmp_path / "no such program")])
    with serving(study, refits=refits) as client:
        state = join(client)
        for _ in range(5):
            reply = answer(client, state["questions"][0]["id"])
            assert reply.status_code == 200
            state = reply.json()
        assert "cannot be started" in first_event(client, Access(tmp_path).token)["problem"]


@contextlib.contextmanager
def full_disk(folder):
    """Let every attempt to enlarge the log of the database fail, as on a full disk."""
    resource = pytest.importorskip("resource", reason="limits the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / f"{FILE}-wal").stat().st_size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_on_a_full_disk_answers_are_refused_and_the_researcher_is_told(tmp_path, capsys):
    access = Access(tmp_path)
    with serving(study_of(tmp_path)) as client:
        question = join(client)["questions"][0]["id"]
        with full_disk(tmp_path):
            assert [answer(client, question).status_code for _ in range(2)] == [503, 503]
            body = {"participant": access.pseudonym(1, None), "reason": "fell asleep"}
            reply = client.post("/researcher/exclude", json=body, headers={"Authorization": f"Bearer {access.token}"})
            assert (reply.status_code, "disk" in reply.json()["error"]) == (503, True)
        assert "disk" in first_event(client, access.token)["storage"]
        assert answer(client, question).status_code == 200
        assert first_event(client, access.token)["storage"] == ""
    assert capsys.readouterr().err.count("answers cannot be saved") == 1
    with Store(tmp_path / FILE) as store:
        assert store.value("SELECT count(*) FROM answers") == 1
        assert store.value("SELECT count(*) FROM exclusions") == 0


class Refits:
    """A process that fits no map but notes that another one was requested."""

    problem = ""

    def __init__(self):
        self.renewed = threading.Event()
        self.answered = self.start = self.stop = lambda: None
        self.renew = self.renewed.set


@pytest.mark.slow
def test_the_map_is_fitted_again_after_an_exclusion_by_command_and_after_a_withdrawal(tmp_path):
    refits, access = Refits(), Access(tmp_path)
    with serving(study_of(tmp_path), refits=refits) as client:
        answer(client, join(client)["questions"][0]["id"])
        assert not refits.renewed.is_set()
        with Store(tmp_path / FILE) as store:
            exclude(store, access, access.pseudonym(1, None), "fell asleep")
        assert refits.renewed.wait(30)
        refits.renewed.clear()
        client.post("/withdraw", json={}, headers=ME)
        assert refits.renewed.wait(30)


def test_files_have_their_types_and_support_range_requests(tmp_path):
    types = {
        "a.mp4": "video/mp4",
        "b.webm": "video/webm",
        "c.mp3": "audio/mpeg",
        "d.wav": "audio/wav",
        "e.ogg": "audio/ogg",
        "f.m4a": "audio/mp4",
        "g.avif": "image/avif",
        "h.webp": "image/webp",
    }
    for name in types:
        (tmp_path / name).write_bytes(name.encode() * 100)
    objects = tuple(Stimulus(name, "", tmp_path / name) for name in types)
    with serving(dataclasses.replace(study_of(tmp_path), objects=objects)) as client:
        for one in objects:
            address = f"/media/{one.address(Access(tmp_path).key)}"
            whole = client.get(address)
            assert whole.headers["content-type"] == types[one.name]
            assert whole.headers["accept-ranges"] == "bytes"
            # Safari plays media only if the server supports range requests.
            part = client.get(address, headers={"Range": "bytes=2-9"})
            assert (part.status_code, part.content) == (206, whole.content[2:10])
            assert part.headers["content-range"] == f"bytes 2-9/{len(whole.content)}"
            assert client.get(address, headers={"Range": "bytes=99999-"}).status_code == 416


def test_too_many_requests_of_one_participant_are_refused_without_affecting_others(tmp_path):
    with serving(study_of(tmp_path), clock=lambda: 0.0) as client:
        join(client)
        join(client, "b" * 32)
        statuses = [client.get("/state", headers=ME).status_code for _ in range(41)]
        other = client.get("/state", headers={"Authorization": "Bearer " + "b" * 32}).status_code
    assert (statuses[0], statuses[-1], other) == (200, 429, 200)


def test_every_reply_forbids_other_hosts_and_sets_no_cookie(client):
    for path in ("/", "/study", "/participant.js", "/researcher/", "/nowhere"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers


@pytest.mark.parametrize("name", ["participant", "researcher"])
def test_pages_use_no_other_host_and_no_absolute_path(client, name):
    page = client.get("/" if name == "participant" else "/researcher/").text
    assert not re.search(r"(?:src|href)=\"(?:https?:|/)", page)
    script = client.get(f"/{'researcher/' * (name == 'researcher')}{name}.js").text
    for address in re.findall(r"""(?:ask\w*|fetch)\("([^"]+)""", script):
        assert not address.startswith(("/", "http"))
    assert "innerHTML" not in script


PRIVATE = ["events", "answers.csv", "answers.csv?all=yes", "map.csv", "study.zip"]


@pytest.mark.parametrize("path", PRIVATE)
def test_the_researchers_data_need_the_token(client, path, tmp_path):
    for headers in ({}, ME, {"Authorization": "Bearer "}, {"Authorization": f"Basic {Access(tmp_path).token}"}):
        reply = client.get(f"/researcher/{path}", headers=headers)
        assert reply.status_code == 401
        assert reply.json() == {"error": "this needs the researcher's token"}
    assert client.get(f"/researcher/{path}?token={Access(tmp_path).token}").status_code == 401


def test_a_damaged_file_of_tokens_gives_nobody_access_and_is_reported(client, tmp_path, capsys):
    token = Access(tmp_path).token
    (tmp_path / Access.FILES[0]).write_text("")
    for presented in (token, ""):
        reply = client.get("/researcher/people", headers={"Authorization": f"Bearer {presented}"})
        assert (reply.status_code, "log says why" in reply.text) == (503, True)
    error = capsys.readouterr().err
    assert "researcher-token.txt contains no secret" in error
    assert "Traceback" not in error


def test_the_researchers_page_without_the_token_reveals_nothing_about_the_study(client):
    assert "A study" not in client.get("/researcher/").text


@pytest.mark.parametrize("path", PRIVATE[1:-1])
def test_the_researcher_downloads_with_the_token(client, path, tmp_path):
    reply = client.get(f"/researcher/{path}", headers={"Authorization": f"Bearer {Access(tmp_path).token}"})
    assert reply.status_code == 200
    assert reply.text.startswith(("participant,anchor,near,far", "name,x1,x2"))


def test_only_the_stimuli_in_the_folder_are_served(client):
    for path in (
        "study.toml",
        "researcher-token.txt",
        "answers.sqlite",
        "media/..%2fstudy.toml",
        "media/../study.toml",
    ):
        assert client.get(f"/{path}").status_code == 404


def test_the_token_is_in_a_file_that_only_its_owner_can_read(client, tmp_path):
    assert Access(tmp_path).token != Access(tmp_path).key.decode()
    for name in Access.FILES:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_addresses_of_pictures_reveal_nothing_and_pictures_run_in_a_sandbox(tmp_path):
    svg = tmp_path / "evil.svg"
    svg.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    study = study_of(tmp_path)
    objects = (Stimulus("evil", "an evil picture", svg), *study.objects[1:])
    study = type(study)(**{**vars(study), "objects": objects})
    with serving(study) as client:
        reply = client.get(f"/media/{objects[0].address(Access(tmp_path).key)}")
    assert reply.headers["content-type"] == "image/svg+xml"
    assert reply.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_address_without_a_slash_is_redirected_also_under_a_path(client):
    reply = client.get("/researcher")
    assert (reply.status_code, reply.headers["location"]) == (307, "researcher/")


def test_the_whole_study_is_one_file_without_secrets(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(6):
        picture(pictures / f"{number}.png", (number, 0, 0))
    make_study(tmp_path / "study", pictures)
    access = Access(tmp_path / "study")
    with serving(read_study(tmp_path / "study")) as client:
        join(client)
        reply = client.get("/researcher/study.zip", headers={"Authorization": f"Bearer {access.token}"})
    archive = zipfile.ZipFile(io.BytesIO(reply.content))
    names = archive.namelist()
    assert {"study.toml", "objects.csv", "answers.csv", "map.csv", "answers.sqlite", "objects/3.png"} <= set(names)
    assert not any(access.token.encode() in archive.read(name) for name in names)
    assert not set(Access.FILES) & set(names)


def test_events_contain_the_state_and_then_only_changes(tmp_path):
    async def two_events():
        with serving(study_of(tmp_path)) as client:
            join(client)
            researcher = Researcher(study_of(tmp_path), Access(tmp_path), interval=0.01)
            researcher.open()
            stream = researcher.stream()
            first = await anext(stream)
            answer(client, client.get("/state", headers=ME).json()["questions"][0]["id"])
            second = await anext(stream)
            researcher.hang_up()
            rest = [event async for event in stream]
            researcher.close()
            return first, second, rest

    first, second, rest = asyncio.run(two_events())
    states = [json.loads(event.partition("data: ")[2]) for event in (first, second)]
    assert states[0]["progress"]["started"] == 1
    assert len(states[0]["objects"]) == 10
    assert "objects" not in states[1]
    assert rest == []
