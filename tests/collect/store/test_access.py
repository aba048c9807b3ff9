import stat

import pytest
from studies import study_folder
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.store.access import Access


def test_an_empty_secret_gives_no_access(tmp_path):
    (tmp_path / Access.FILES[0]).write_text("")
    with pytest.raises(ValueError, match=r"researcher-token\.txt contains no secret"):
        Access(tmp_path).allows("")


def test_each_researcher_has_a_token_that_can_be_revoked_while_others_stay_valid(tmp_path):
    access = Access(tmp_path)
    ann, bob = access.add_researcher("ann"), access.add_researcher("bob")
    serving = Access(tmp_path)  # a server that is running
    assert all(serving.allows(token) for token in (ann, bob, access.token))
    access.remove_researcher("ann")
    assert [serving.allows(token) for token in (ann, bob, access.token, "", "bob")] == [False, True, True, False, False]


def test_researchers_tokens_are_stored_as_hashes_that_only_the_owner_can_read(tmp_path):
    token = Access(tmp_path).add_researcher("ann")
    path = tmp_path / "researchers.txt"
    assert token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not Access(tmp_path).allows(path.read_text().split()[1])  # the hash itself gives no access


def test_names_that_are_taken_unknown_or_impossible_are_refused(tmp_path):
    access = Access(tmp_path)
    access.add_researcher("ann")
    with pytest.raises(ValueError, match="already has a token"):
        access.add_researcher("ann")
    with pytest.raises(ValueError, match="bob has no token; those who have one are ann"):
        access.remove_researcher("bob")
    for name in ("", "a b", "a\nb", "x" * 41):
        with pytest.raises(ValueError, match="must consist of"):
            access.add_researcher(name)
    (tmp_path / "researchers.txt").write_text("ann\n")
    with pytest.raises(ValueError, match="is damaged"):
        access.allows("anything")


def test_the_commands_add_list_and_remove_tokens(tmp_path):
    folder = str(study_folder(tmp_path))

    def run(*words):
        return CliRunner().invoke(app, ["collect", "token", *words])

    assert "only the token in" in run("list", folder).output
    token = run("add", folder, "ann").output.split()[0]
    assert Access(folder).allows(token)
    assert run("list", folder).output == "ann\n"
    assert run("remove", folder, "ann").exit_code == 0
    assert not Access(folder).allows(token)
