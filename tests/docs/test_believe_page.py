"""The worked study of the guide: all its numbers come from one run of one command, here on simulated people."""

import re

import pytest
from benchmarks import believe
from paths import ROOT

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    believe.write_twin(folder / believe.FILE, n_people=12, n_faces=12, n_answers=1_800)
    words = [("10" if word == "100" else word) for word in believe.COMMAND]
    return believe.study(folder, (*words, "--loss", "ste", "--penalty", "0"))


@pytest.mark.slow
def test_every_number_of_the_methods_paragraph_is_one_that_the_command_printed(study):
    printed = set(NUMBER.findall(study.summary + study.facts))
    known = {"0.1.0", "95", "50"}  # the version, and levels that are no results
    # The seed with which this loss and penalty give the map is no result; it was drawn when the penalty was chosen.
    paragraph = re.sub(r"seed \d+", "seed", study.methods.replace("closerthan 0.1.0", "closerthan"))
    numbers = [number.rstrip(",") for number in NUMBER.findall(paragraph)]
    assert len(numbers) > 10
    assert not {number for number in numbers if number not in printed | known}


@pytest.mark.slow
def test_the_page_shows_what_the_command_printed(study):
    for part in (study.summary, study.facts, study.methods, f"closerthan {' '.join(believe.COMMAND)}"):
        assert part in study.page


def test_the_guide_has_no_results_of_the_study_beside_those_of_the_command():
    page = (ROOT / "docs" / "what-can-i-believe.md").read_text("utf-8")
    section = page.partition("## A study, from file to methods section")[2]
    section = section.partition("\n## ")[0]
    assert "```{include} measured/what-can-i-believe.md" in section
    described = {"39", "36", "100"}  # people, faces, and the replicates that the command asks for
    assert set(NUMBER.findall(section.replace("cfd36", ""))) <= described
    measured = (ROOT / "docs" / "measured" / "what-can-i-believe.md").read_text("utf-8")
    assert f"$ closerthan {' '.join(believe.COMMAND)}" in measured
