"""Whether two groups of answers have different maps."""

import csv
import json

import numpy as np
import pytest
from conftest import InterruptedPolyak
from paths import ROOT
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.uncertainty.map_difference import FALSELY_NAMED

QUICK = {"loss": "ste", "penalty": 0, "n_permutations": 19, "seed": 0}


def two_groups(shift=0.0, is_paired=False, n_people=8, each=60, n_objects=10, seed=0, own=0.2):
    """Answers of people in two groups; the first two objects are moved in the second."""
    rng = np.random.default_rng(seed)
    first = 1.5 * rng.standard_normal((n_objects, 2))
    second = first.copy()
    second[:2] += shift
    places_of_people = own * rng.standard_normal((2 * n_people, n_objects, 2))
    found = []
    for group, places in enumerate((first, second)):
        people = np.arange(n_people) + (0 if is_paired else group * n_people)
        rows = [
            ct.datasets.simulated(
                places + places_of_people[person], each, noise="ste", seed=int(rng.integers(1 << 31))
            ).rows
            for person in people
        ]
        names = [f"object {number}" for number in range(n_objects)]
        who = np.repeat([f"p{person}" for person in people], each)
        found.append(ct.Comparisons.from_triplets(np.concatenate(rows), names=names, people=who))
    return found


@pytest.mark.parametrize("is_paired", [False, True])
def test_objects_that_moved_are_found(is_paired):
    found = ct.compare_maps(*two_groups(2.5, is_paired), **{**QUICK, "n_permutations": 39})
    assert found.differ
    assert found.cross_error > found.expected_error
    assert found.distance > found.expected_distance
    assert {one.name for one in found.objects[:2]} == {"object 0", "object 1"}
    assert found.moved[0].name in ("object 0", "object 1")
    assert found.by == "people"
    assert found.n_units == (8 if is_paired else 16)
    assert found.sentences[0].startswith("the two maps differ")
    assert (
        "of simulated studies with a real difference, an object that did not move was named, too" in found.sentences[1]
    )


def test_the_rate_of_falsely_named_objects_is_the_measured_one():
    page = ROOT / "docs" / "measured" / "contrast.md"
    rows = [line.split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| objects")]
    rates = [int(cells[4].removesuffix(" % ")) for cells in rows]
    assert f"{min(rates)} % to {max(rates)} %" == FALSELY_NAMED


@pytest.mark.slow
@pytest.mark.parametrize("is_paired", [False, True])
def test_groups_with_one_map_are_called_different_in_one_of_twenty_studies(is_paired):
    p = [
        ct.compare_maps(*two_groups(0.0, is_paired, each=30, seed=seed, own=0.4), **QUICK).p_value for seed in range(20)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.2  # 1 of 20 is expected, and more than 4 have a probability of 0.003
    assert 0.3 < np.mean(p) < 0.75


def test_a_difference_between_people_is_not_one_between_groups():
    one, other = two_groups(0.0, n_people=3, each=200, own=1.5)
    by_people = ct.compare_maps(one, other, **QUICK)
    assert by_people.by == "people"
    assert not by_people.differ
    assert ct.compare_maps(one, other, **QUICK, by="answers").differ  # the reason for permuting people


def test_the_order_of_objects_in_a_file_does_not_matter():
    one, other = two_groups(1.0)
    order = np.random.default_rng(0).permutation(10)
    names = [other.names[number] for number in order]
    rows = np.argsort(order)[other.rows]
    who = np.array(other.person_names)[other.people]
    turned = ct.Comparisons.from_triplets(rows, names=names, people=who)
    assert ct.compare_maps(one, turned, **QUICK).p_value == ct.compare_maps(one, other, **QUICK).p_value


def test_objects_of_one_group_alone_are_left_out():
    one, other = two_groups(0.0)
    fewer = other.take((other.rows != 9).all(axis=1))
    found = ct.compare_maps(one, fewer, **QUICK)
    assert found.n_left_out == 1
    assert len(found.objects) == 9
    assert any("in one group only" in sentence for sentence in found.sentences)


def test_the_same_seed_gives_the_same_numbers():
    one, other = two_groups(0.5)
    first, again = (ct.compare_maps(one, other, **QUICK) for _ in range(2))
    assert first.p_value == again.p_value
    assert first.objects == again.objects
    assert np.array_equal(first.aligned, again.aligned)


def test_ctrl_c_keeps_completed_permutations():
    one, other = two_groups(0.0, each=20)
    solver = InterruptedPolyak(after=1 + 50)  # the first fit, then two for the real grouping and 24 random ones
    found = ct.compare_maps(one, other, solver=solver, **{**QUICK, "n_permutations": 99})
    assert found.stopped_by == "interrupted"
    assert found.n_permutations == 24
    assert any("interrupted after 24 random groupings" in sentence for sentence in found.sentences)


def test_ctrl_c_before_a_test_is_possible_is_raised():
    one, other = two_groups(0.0, each=20)
    with pytest.raises(KeyboardInterrupt):
        ct.compare_maps(one, other, solver=InterruptedPolyak(after=1 + 10), **QUICK)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one, other: (one, other, {"n_permutations": 5}), "n_permutations"),
        (lambda one, other: (one, other, {"by": "days"}), "it can be"),
        (lambda one, other: (one.take(one.people < 2), other.take(other.people < 2), {}), "too few for a test"),
        (lambda one, other: (one, ct.Comparisons.from_triplets([[0, 1, 2]]), {}), "names"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(change, message):
    one, other, options = change(*two_groups(each=20))
    with pytest.raises(ValueError, match=message):
        ct.compare_maps(one, other, **{**QUICK, **options})


def written(groups, path):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["anchor", "near", "far", "participant", "condition"])
        for condition, answers in zip(("upright", "inverted"), groups, strict=True):
            for row, person in zip(answers.rows.tolist(), answers.people.tolist(), strict=True):
                names = [answers.names[number] for number in row]
                table.writerow([*names, answers.person_names[person], condition])


def test_the_command_compares_two_values_of_a_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(two_groups(2.5), "study.csv")
    words = ["contrast", "study.csv", "--loss", "ste", "--penalty", "0", "--permutations", "19"]
    done = CliRunner().invoke(app, [*words, "--between", "condition=upright,inverted", "--format", "svg"])
    assert done.exit_code == 0, done.output
    assert "the two maps differ" in " ".join(done.stdout.split())
    folder = tmp_path / "study-contrast"
    assert {path.name for path in folder.iterdir()} == {
        "objects.csv", "overlay.svg", "map-1.csv", "map-2.csv", "contrast.json",
    }  # fmt: skip
    numbers = json.loads((folder / "contrast.json").read_text())
    expected = ct.compare_maps(*two_groups(2.5), loss="ste", penalty=0, n_permutations=19, seed=0)
    assert numbers["p_value"] == expected.p_value == 0.05
    assert numbers["groups"] == ["upright", "inverted"]
    first = next(csv.DictReader((folder / "objects.csv").read_text().splitlines()))
    assert first["name"] == expected.objects[0].name
    assert "upright" in (folder / "overlay.svg").read_text()


def test_the_command_needs_two_groups(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(two_groups(each=20), "study.csv")
    for more in ([], ["study.csv", "--between", "condition=upright,inverted"]):
        done = CliRunner().invoke(app, ["contrast", "study.csv", *more])
        assert done.exit_code == 2
        assert "pass two files, or one file and --between" in done.output
    done = CliRunner().invoke(app, ["contrast", "study.csv", "--between", "condition=upright"])
    assert "expected COLUMN=ONE,OTHER" in done.output
