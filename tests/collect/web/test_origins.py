"""Pages of other sites may use a study's interface only if study.toml lists them."""

import pytest
from studies import study_folder, study_of

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.study.description import read_study

LAB = "https://lab.example.org"
ALLOWED = "access-control-allow-origin"


def test_only_listed_sites_may_read_replies(tmp_path):
    with serving(study_of(tmp_path, origins=(LAB,))) as server:
        assert server.get("/study", headers={"Origin": LAB}).headers[ALLOWED] == LAB
        other = server.get("/study", headers={"Origin": "https://elsewhere.invalid"})
        assert ALLOWED not in other.headers
        assert other.headers["vary"] == "Origin"
        # A refusal can be read, too, so that a page can report it.
        assert server.post("/join", json={}, headers={"Origin": LAB}).headers[ALLOWED] == LAB


def test_a_browser_may_ask_first(tmp_path):
    with serving(study_of(tmp_path, origins=(LAB,))) as server:
        allowed = server.ask("OPTIONS", "/answer", headers={"Origin": LAB, "Access-Control-Request-Method": "POST"})
        assert allowed.status_code == 204
        assert allowed.headers["access-control-allow-headers"] == "Authorization, Content-Type"
        other = server.ask("OPTIONS", "/answer", headers={"Origin": "https://elsewhere.invalid"})
        assert not [name for name in other.headers if name.startswith("access-control")]


def test_the_researchers_page_is_for_no_other_site(tmp_path):
    with serving(study_of(tmp_path, origins=(LAB,))) as server:
        for path in ("/researcher/", "/researcher/answers.csv", "/researcher/events"):
            assert ALLOWED not in server.get(path, headers={"Origin": LAB}).headers
            assert server.ask("OPTIONS", path, headers={"Origin": LAB}).status_code == 405


def test_by_default_no_other_site_is_allowed(tmp_path):
    with serving(study_of(tmp_path)) as server:
        assert ALLOWED not in server.get("/study", headers={"Origin": LAB}).headers
        assert server.ask("OPTIONS", "/answer", headers={"Origin": LAB}).status_code == 405


@pytest.mark.parametrize("origin", ["lab.example.org", f"{LAB}/page", "*", "https://*.example.org", 5])
def test_mistakes_in_the_list_are_named(tmp_path, origin):
    folder = study_folder(tmp_path)
    written = f'"{origin}"' if isinstance(origin, str) else origin
    with open(folder / "study.toml", "a") as file:
        file.write(f"\n[embed]\norigins = [{written}]\n")
    with pytest.raises(ValueError, match=r"it must be a list of sites without paths, as in \[.https://lab.example.org"):
        read_study(folder)
