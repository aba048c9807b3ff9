"""Findings: analyses of how far a map can be believed, and their section of the report."""

import base64
import dataclasses
import json
import re

import numpy as np
import pytest
from paths import ROOT

import closerthan as ct
from closerthan.report import findings
from closerthan.report.believe import findings_content
from closerthan.report.findings import Findings, FindingsRequest


@pytest.fixture(scope="module")
def study():
    """Answers of six people about 12 objects."""
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((12, 2)), 600, noise="ste", seed=0).rows
    return ct.Comparisons.from_triplets(rows, n_objects=12, people=np.arange(600) % 6)


@pytest.fixture(scope="module")
def fitted(study):
    return ct.embed(study, loss="soe", penalty=0, seed=0)


SETTINGS = {"loss": "soe", "penalty": 0, "seed": 0, "by": "answers"}


def data_of(path):
    """Return the data inside a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])


def unpacked(numbers):
    """Return an array of integers from the data inside a page."""
    return np.frombuffer(base64.b64decode(numbers["bytes"]), "<i4")


@pytest.mark.slow
def test_all_findings_are_computed_and_shown(study, fitted, tmp_path):
    result = Findings.of(study, fitted, FindingsRequest(10), **SETTINGS)
    assert result.left_out == ()
    assert sorted(result.figures()) == [
        "calibration.png",
        "ellipses.png",
        "learning-curve.png",
        "neighbours.png",
        "people-matrix.png",
        "people.png",
    ]
    ct.write_report(study, fitted, tmp_path / "report.html", findings=result)
    page = data_of(tmp_path / "report.html")
    assert len(page["believe"]["people"]["rows"]) == 6
    assert len(page["believe"]["groups"]["names"]) == 6
    sentences = page["believe"]["curve"]["sentences"]
    assert [sentence.lower() for sentence in sentences] == [sentence.lower() for sentence in result.curve.sentences()]
    assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in sentences)
    assert "Decided" in [fact["name"] for fact in page["facts"]]
    assert "Not settled" not in [fact["name"] for fact in page["facts"]]  # it has a section of its own


def test_weights_of_people_have_a_fact_a_figure_and_a_part_of_the_page(study, fitted, tmp_path):
    maps = ct.embed_people(study, 2, loss="ste", penalty=0.1, spread=0.3, seed=0)
    findings = Findings(individuals=maps)
    assert findings.facts()[0].name == "Weights of people"
    assert list(findings.figures()) == ["people-weights.png"]
    ct.write_report(study, fitted, tmp_path / "report.html", findings=findings)
    part = data_of(tmp_path / "report.html")["believe"]["individuals"]
    assert part["verdict"] == "Not tested."
    assert len(part["people"]["rows"]) == 6
    assert part["dimensions"]["rows"][0][0] == "dimension 1"


def test_effects_besides_the_map_have_a_fact_and_a_part_of_the_page(study, fitted, tmp_path):
    sides = np.where(np.arange(len(study)) % 5 == 0, 1, 0)  # everybody prefers the left
    placed = study.replace(trials=ct.Trials(sides=sides))
    effects = ct.answer_effects(placed, 2, loss="ste", penalty=0.1, seed=0)
    findings = Findings(effects=effects)
    assert findings.facts()[0].name == "Effects besides the map"
    assert findings.facts()[0].value == "positions"
    ct.write_report(placed, fitted, tmp_path / "report.html", findings=findings)
    part = data_of(tmp_path / "report.html")["believe"]["effects"]
    assert part["verdict"] == "Positions."
    assert part["people"]["titles"] == ["Person", "Answers", "Left"]
    assert part["models"]["rows"][0][0] == "map alone"


@pytest.mark.slow
def test_weights_of_people_are_fitted_if_the_loss_has_probabilities(study):
    fit = ct.embed(study, loss="ste", penalty=0.1, seed=0)
    findings = Findings.of(study, fit, FindingsRequest(0, enough=False))
    assert findings.individuals.evidence is not None
    assert "people-weights.png" in findings.figures()


def test_analyses_that_would_take_too_long_are_left_out(study, fitted):
    result = Findings.of(study, fitted, FindingsRequest(5, most_seconds=0.0), **SETTINGS)
    assert (result.people, result.groups, result.curve) == (None, None, None)
    assert [fact.name for fact in result.left_out] == ["People", "Enough?"]
    assert "run closerthan enough" in result.left_out[1].note
    assert not result.interrupted
    assert repr(result) == "Findings(5 replicates, without People, without Enough?)"


def test_too_few_answers_for_a_curve_leave_the_other_findings(fitted):
    few = ct.Comparisons.from_triplets([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
    result = Findings.of(few, ct.embed(few, loss="soe", penalty=0, seed=0), FindingsRequest(5), **SETTINGS)
    assert len(result.replicates) == 5
    assert "needs at least 10" in result.left_out[0].note


class Interrupting(dict):
    """Results of check questions that raise an interruption, as Ctrl-C would, when people are assessed."""

    def get(self, *_):
        raise KeyboardInterrupt


def test_ctrl_c_leaves_out_the_analyses_that_follow(study, fitted):
    result = Findings.of(study, fitted, FindingsRequest(5, checks=Interrupting({"ann": (0, 0)})), **SETTINGS)
    assert result.interrupted
    assert len(result.replicates) == 5
    assert result.people is None
    assert result.curve is None


def test_a_page_without_findings_has_no_section_about_them(study, fitted, tmp_path):
    ct.write_report(study, fitted, tmp_path / "report.html")
    assert data_of(tmp_path / "report.html")["believe"] is None


def test_moments_are_rotated_like_the_map(study):
    many = ct.replicate(study, 3, n_replicates=10, loss="soe", penalty=0, seed=0)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    packed = findings_content(Findings(many), rotation)["replicates"]["ellipses"]
    raw = np.frombuffer(base64.b64decode(packed["moments"]["bytes"]), "<f4").reshape(12, 6)
    rotated = rotation.T @ many.ellipses(0.95).moments @ rotation
    np.testing.assert_allclose(raw[:, [0, 2, 5]], np.einsum("odd->od", rotated), rtol=1e-5)
    np.testing.assert_allclose(raw[:, 3], rotated[:, 2, 0], rtol=1e-3, atol=1e-6)


def test_a_page_about_many_objects_stays_small(tmp_path):
    n_objects = 500
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((n_objects, 2)), 3000, seed=0).rows
    answers = ct.Comparisons.from_triplets(rows, n_objects=n_objects, unmentioned="ignore")
    many = ct.replicate(answers, n_replicates=10, loss="soe", penalty=0, seed=0, epochs=2)
    ct.write_report(answers, many.result, tmp_path / "plain.html")
    ct.write_report(answers, many.result, tmp_path / "report.html", findings=many)
    more = (tmp_path / "report.html").stat().st_size - (tmp_path / "plain.html").stat().st_size
    assert more < 200 * n_objects


def test_the_page_lists_the_six_most_probable_neighbours_of_each_object(study):
    many = ct.replicate(study, n_replicates=10, loss="soe", penalty=0, seed=0)
    flat = np.random.default_rng(0).standard_normal(
        (60, 12, 2)
    )  # random maps, on which any two objects may be neighbours
    vague = Findings(dataclasses.replace(many, maps=flat, simulated=None))
    pairs = findings_content(vague, np.eye(2))["replicates"]["pairs"]
    assert np.bincount(unpacked(pairs["from"])).tolist() == [6] * 12
    near = vague.replicates.neighbour_probability(3)
    for number in range(12):
        listed = unpacked(pairs["to"])[unpacked(pairs["from"]) == number]
        assert near[number, listed].min() >= np.sort(near[number])[-6]


def test_statements_about_simulations_agree_with_the_benchmark():
    page = ROOT / "docs" / "measured" / "trust-worlds.md"
    first = page.read_text(encoding="utf-8").splitlines()[0]
    for statement in (findings.ELLIPSES_HELD, findings.DECIDED_WRONG):
        assert f"**{statement}**" in first


def test_decided_triplets_of_guesses_are_not_to_be_relied_on(fitted):
    rng = np.random.default_rng(0)
    guesses = ct.Comparisons.from_triplets([rng.permutation(6)[:3] for _ in range(300)], people=np.arange(300) % 6)
    people = ct.assess_people(guesses, 2, loss="soe", penalty=0, seed=0, rounds=1)
    assert people.is_chance
    assert "do not rely on them" in Findings(people=people).trust_in_decided
    assert "in simulations" in Findings().trust_in_decided
