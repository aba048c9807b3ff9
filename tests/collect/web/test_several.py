"""Several studies behind one port."""

import contextlib
import threading

import pytest
from studies import KEY, study_folder, study_of

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
import uvicorn
from local_server import Client

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import read_study
from closerthan.collect.study.folders import studies_in
from closerthan.collect.web.application import RESCUED, StudyApplication
from closerthan.collect.web.serving import _open_studies, listening_at
from closerthan.collect.web.several import SeveralStudies

ME = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def lab(tmp_path):
    """A folder with three studies, of which the third has a mistake."""
    for name in ("animals", "faces", "faulty"):
        place = tmp_path / f"{name}-source"
        place.mkdir()
        (tmp_path / "lab").mkdir(exist_ok=True)
        toml = study_folder(place).rename(tmp_path / "lab" / name) / "study.toml"
        toml.write_text(toml.read_text().replace('title = "study"', f'title = "{name}"'))
    path = tmp_path / "lab" / "faulty" / "study.toml"
    path.write_text(path.read_text().replace("number = ", "numbr = "))
    return tmp_path / "lab"


@contextlib.contextmanager
def serving_several(studies):
    application, listening = SeveralStudies(studies), listening_at("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical", timeout_graceful_shutdown=10))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    client = Client(listening.getsockname()[1], "/")
    try:
        yield client
    finally:
        client.close()
        application.hang_up()
        server.should_exit = True
        thread.join()
        listening.close()


def join(client, name):
    version = client.get(f"/{name}/study").json()["version"]
    return client.post(f"/{name}/join", json={"consent": version, "address": {}}, headers=ME)


def test_each_study_has_a_path_and_a_token_of_its_own(lab):
    studies = {name: StudyApplication(read_study(lab / name)) for name in ("animals", "faces")}
    with serving_several(studies) as client:
        assert client.get("/animals/study").json()["title"] == "animals"
        assert client.get("/faces/study").json()["title"] == "faces"
        assert client.get("/animals").headers["location"] == "animals/"
        assert client.get("/animals?PROLIFIC_PID=5f").headers["location"] == "animals/?PROLIFIC_PID=5f"
        assert client.get("/").status_code == client.get("/others/").status_code == 404
        assert "animals" not in client.get("/").text
        assert client.get("/").headers["content-security-policy"].startswith("default-src 'self';")
        assert join(client, "animals").status_code == 200
        assert client.get("/faces/state", headers=ME).status_code == 401  # participants belong to one study
        token = {"Authorization": f"Bearer {Access(lab / 'animals').token}"}
        assert client.get("/animals/researcher/people", headers=token).status_code == 200
        assert client.get("/faces/researcher/people", headers=token).status_code == 401
    for name, number in (("animals", 1), ("faces", 0)):
        with Store(lab / name / FILE) as store:
            assert store.value("SELECT count(*) FROM participants") == number


def test_a_study_that_cannot_be_opened_or_fails_does_not_stop_the_others(lab, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / FILE).write_text("no database" * 100)
    studies = {"broken": StudyApplication(study_of(tmp_path / "broken"))}
    studies["animals"] = StudyApplication(read_study(lab / "animals"))
    with serving_several(studies) as client:
        assert client.get("/broken/study").status_code == 503
        assert join(client, "animals").status_code == 200


def test_a_study_whose_database_is_lost_stops_alone_with_its_answers_rescued(lab):
    studies = {name: StudyApplication(read_study(lab / name)) for name in ("animals", "faces")}
    with serving_several(studies) as client:
        join(client, "animals")
        for file in (lab / "animals").glob("answers.sqlite*"):
            file.unlink()
        assert client.get("/animals/state", headers=ME).status_code == 503
        assert join(client, "faces").status_code == 200
        with Store(lab / "animals" / RESCUED) as store:
            assert store.value("SELECT count(*) FROM participants") == 1


def test_a_faulty_study_is_reported_and_left_out(lab, capsys):
    folders = studies_in([lab])
    assert list(folders) == ["animals", "faces", "faulty"]
    with contextlib.ExitStack() as locks:
        assert list(_open_studies(folders, locks)) == ["animals", "faces"]
    assert "numbr is unknown" in capsys.readouterr().err


def test_names_that_are_no_part_of_an_address_or_occur_twice_are_refused(lab):
    with pytest.raises(ValueError, match="have the same name"):
        studies_in([lab, lab / "faces"])
    (lab / "faces").rename(lab / "faces é")
    with pytest.raises(ValueError, match="cannot be part of an address"):
        studies_in([lab])
