"""What can be believed: found out after a fit, and shown by the report."""

import base64
import dataclasses
import json
import re

import numpy as np
import pytest
from paths import ROOT

import closerthan as ct
from closerthan.report import findings
from closerthan.report.believe import believe
from closerthan.report.findings import Findings, FindingsRequest


@pytest.fixture(scope="module")
def study():
    """Six people about 12 objects."""
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((12, 2)), 600, noise="ste", seed=0).rows
    return ct.Comparisons.from_triplets(rows, n_objects=12, people=np.arange(600) % 6)


@pytest.fixture(scope="module")
def fitted(study):
    return ct.embed(study, loss="soe", seed=0)


SETTINGS = {"loss": "soe", "seed": 0, "by": "answers"}


def shown(path):
    """The data in a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])


def unpacked(numbers):
    """Whole numbers of a page."""
    return np.frombuffer(base64.b64decode(numbers["bytes"]), "<i4")


@pytest.mark.slow
def test_all_of_it_is_found_and_shown(study, fitted, tmp_path):
    found = Findings.of(study, fitted, FindingsRequest(10), **SETTINGS)
    assert found.left_out == ()
    assert sorted(found.figures()) == [
        "calibration.png",
        "ellipses.png",
        "learning-curve.png",
        "neighbours.png",
        "people-matrix.png",
        "people.png",
    ]
    ct.write_report(fitted, study, tmp_path / "report.html", findings=found)
    page = shown(tmp_path / "report.html")
    assert len(page["believe"]["people"]["rows"]) == 6
    assert len(page["believe"]["groups"]["names"]) == 6
    assert page["believe"]["curve"]["sentences"] == found.curve.sentences()
    assert "Decided" in [fact["name"] for fact in page["facts"]]
    assert "Not settled" not in [fact["name"] for fact in page["facts"]]  # it has a place of its own


def test_what_would_take_too_long_is_left_out(study, fitted):
    found = Findings.of(study, fitted, FindingsRequest(5, most_seconds=0.0), **SETTINGS)
    assert (found.people, found.groups, found.curve) == (None, None, None)
    assert [fact.name for fact in found.left_out] == ["People", "Enough?"]
    assert "closerthan enough does it" in found.left_out[1].note
    assert not found.interrupted


def test_too_few_answers_for_a_curve_lose_nothing_else(fitted):
    few = ct.Comparisons.from_triplets([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
    found = Findings.of(few, ct.embed(few, loss="soe", seed=0), FindingsRequest(5), **SETTINGS)
    assert len(found.replicates) == 5
    assert "takes at least 10" in found.left_out[0].note


def test_ctrl_c_leaves_out_what_follows(study, fitted, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(findings, "assess_people", pressed)
    found = Findings.of(study, fitted, FindingsRequest(5), **SETTINGS)
    assert found.interrupted
    assert len(found.replicates) == 5
    assert found.curve is None


def test_a_page_without_findings_says_nothing_of_them(study, fitted, tmp_path):
    ct.write_report(fitted, study, tmp_path / "report.html")
    assert shown(tmp_path / "report.html")["believe"] is None


def test_moments_are_turned_like_the_map(study):
    many = ct.replicate(study, 3, n_replicates=10, loss="soe", seed=0)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    packed = believe(Findings(many), rotation)["replicates"]["ellipses"]
    raw = np.frombuffer(base64.b64decode(packed["moments"]["bytes"]), "<f4").reshape(12, 6)
    turned = rotation.T @ many.ellipses(0.95).moments @ rotation
    np.testing.assert_allclose(raw[:, [0, 2, 5]], np.einsum("odd->od", turned), rtol=1e-5)
    np.testing.assert_allclose(raw[:, 3], turned[:, 2, 0], rtol=1e-3, atol=1e-6)


def test_a_page_about_many_objects_stays_small(tmp_path):
    n_objects = 500
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((n_objects, 2)), 3000, seed=0).rows
    answers = ct.Comparisons.from_triplets(rows, n_objects=n_objects, unmentioned="ignore")
    many = ct.replicate(answers, n_replicates=10, loss="soe", seed=0, epochs=2)
    ct.write_report(many.result, answers, tmp_path / "plain.html")
    ct.write_report(many.result, answers, tmp_path / "report.html", findings=many)
    more = (tmp_path / "report.html").stat().st_size - (tmp_path / "plain.html").stat().st_size
    assert more < 200 * n_objects


def test_the_page_lists_the_six_surest_neighbours_of_each_object(study):
    many = ct.replicate(study, n_replicates=10, loss="soe", seed=0)
    flat = np.random.default_rng(0).standard_normal((60, 12, 2))  # all objects are each other's neighbours by chance
    vague = Findings(dataclasses.replace(many, maps=flat, simulated=None))
    pairs = believe(vague, np.eye(2))["replicates"]["pairs"]
    assert np.bincount(unpacked(pairs["from"])).tolist() == [6] * 12
    near = vague.replicates.neighbour_probability(3)
    for number in range(12):
        listed = unpacked(pairs["to"])[unpacked(pairs["from"]) == number]
        assert near[number, listed].min() >= np.sort(near[number])[-6]


def test_what_is_said_of_simulations_is_what_the_benchmark_measured():
    page = ROOT / "docs" / "measured" / "trust-worlds.md"
    first = page.read_text(encoding="utf-8").splitlines()[0]
    for said in (findings.ELLIPSES_HELD, findings.DECIDED_WRONG):
        assert f"**{said}**" in first
