import base64
import dataclasses
import hashlib
import html
import importlib.metadata
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.facts import STOPPED_BY, facts
from closerthan.report.content import embeddable
from closerthan.report.packing import rounded
from closerthan.report.parts import ReportOptions, ReportParts
from closerthan.report.repeat import Code, command_line, python_code, reproducibility_warning
from closerthan.report.violations import most_violated
from closerthan.result import Candidate

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<a href='javascript:alert(4)'>click</a>",
    "line\u2028separator\u2029",
    "{{DATA}} %{x} ${y} $z$",
    "<!--",
    "",
    "\ud800 half a letter",
]

SOURCES = [path.read_text("utf-8") for path in Path(ct.report.__file__).parent.glob("*.py")]


@pytest.fixture(scope="module")
def cities():
    return ct.datasets.eurodist().comparisons()


@pytest.fixture(scope="module")
def fit(cities):
    return ct.embed(cities, seed=0, epochs=20)


def data_of(path):
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(match[1])


def array_of(packed):
    """Return an array that the page's data contain as the bytes of a typed array."""
    kind = {"Float32Array": "<f4", "Int32Array": "<i4"}[packed["type"]]
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype=kind)


def elements(page):
    """Return the tags of all elements of a page."""
    parser = HTMLParser()
    tags = []
    parser.handle_starttag = lambda tag, _: tags.append(tag)
    parser.feed(page)
    return tags


def test_the_page_contains_the_map_and_the_names(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert data["names"] == list(cities.names)
    axes = np.stack([array_of(axis) for axis in data["axes"]], axis=1)
    np.testing.assert_allclose(axes, fit.embedding, rtol=1e-6)
    expected = ct.metrics.object_errors(cities, fit.embedding)
    np.testing.assert_allclose(array_of(data["errors"]), expected, rtol=1e-6, atol=1e-9)
    assert data["violated"] == round(ct.triplet_error(cities, fit.embedding) * len(cities))
    assert data["history"]["objective"] == pytest.approx(fit.history.objective.tolist(), rel=1e-5)


def test_every_option_of_a_report_is_one_of_its_parts():
    assert list(ReportOptions.__annotations__) == [field.name for field in dataclasses.fields(ReportParts)]


def test_an_unknown_option_is_an_error_that_names_the_valid_ones(tmp_path, cities, fit):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'label'; did you mean 'labels'"):
        ct.write_report(cities, fit, tmp_path / "report.html", label=[0] * 21)


def test_the_same_fit_gives_the_same_page(tmp_path, cities, fit):
    for name in ("a.html", "b.html"):
        ct.write_report(cities, fit, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_hostile_names_cannot_inject_elements(tmp_path):
    names = HOSTILE
    rows = [[i, j, k] for i in range(9) for j in range(9) for k in range(9) if abs(i - j) < abs(i - k) and i != j]
    answers = ct.Comparisons.from_triplets(rows, names=names)
    result = ct.embed(answers, seed=0, epochs=2)
    labels = {"</script><b>": [f"</script>{number % 2}" for number in range(9)]}
    ct.write_report(answers, result, tmp_path / "report.html", labels=labels, title="</title><script>alert(5)</script>")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert elements(page).count("script") == 2
    assert not {"img", "a", "b"} & set(elements(page))
    assert html.escape("</title><script>alert(5)</script>") in page
    assert "\u2028" not in page
    data = data_of(tmp_path / "report.html")
    assert data["names"] == names
    assert data["columns"][0]["name"] == "</script><b>"


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&lt;", "\u2028", "a\0b"])
def test_embedded_json_is_harmless_and_can_be_read_back(text):
    written = embeddable([text])
    assert not set(written) & set("<>&\u2028\0")
    assert json.loads(written) == [text]


def test_the_page_loads_nothing_from_other_machines(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|iframe|script)\b[^>]*\b(src|href)=", page)


def test_the_policy_allows_only_the_scripts_of_the_page(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(re.findall(r"'sha256-([^']*)'", policy)) == digests
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_a_failed_report_leaves_the_old_file(tmp_path, cities, fit):
    path = tmp_path / "report.html"
    path.write_text("old")
    (tmp_path / "picture.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"picture\.png is not an image"):
        ct.write_report(cities, fit, path, thumbnails={"Athens": tmp_path / "picture.png"})
    assert path.read_text() == "old"
    assert {entry.name for entry in tmp_path.iterdir()} == {"report.html", "picture.png"}


def test_the_page_of_a_small_map_is_small(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 150_000


def test_a_report_needs_no_optional_package():
    def named(requirement):
        return re.match(r"[\w-]+", requirement)[0]

    needed = {named(line) for line in importlib.metadata.requires("closerthan") if "extra" not in line}
    imported = set(re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(SOURCES), re.MULTILINE)) - {"closerthan"}
    assert imported - set(sys.stdlib_module_names) <= needed | {"PIL"}


def test_long_names_are_shown_without_their_common_parts(tmp_path):
    names = [f"experiment/stimuli of the first session/{name}.png" for name in ("ant", "bee", "cat")]
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], names=names)
    ct.write_report(answers, ct.embed(answers, seed=0, epochs=2), tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert data["names"] == names
    assert data["shortNames"] == ["ant", "bee", "cat"]
    assert "'experiment/stimuli of the first session/'" in data["leftOut"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [({"kind": ["a"]}, "label column 'kind': there are 1 labels for 21 objects"), (["a"], "label column 'label'")],
)
def test_labels_of_the_wrong_length_are_an_error_that_names_the_column(tmp_path, cities, fit, labels, message):
    with pytest.raises(ValueError, match=message):
        ct.write_report(cities, fit, tmp_path / "report.html", labels=labels)


def test_labels_may_be_a_data_frame(tmp_path, cities, fit):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": ["x", "y", None] * 7, "height": np.arange(21.0)})
    ct.write_report(cities, fit, tmp_path / "report.html", labels=frame)
    kind, height = data_of(tmp_path / "report.html")["columns"]
    assert kind["categories"] == ["x", "y", "(none)"]
    assert array_of(kind["values"]).tolist() == [0, 1, 2] * 7
    assert (height["name"], height["categories"]) == ("height", None)
    assert array_of(height["values"]).tolist() == list(range(21))


def test_objects_without_comparisons_have_no_error_in_the_page(tmp_path):
    with pytest.warns(UserWarning, match="1 of 4 objects"):
        answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], n_objects=4)
    ct.write_report(answers, ct.embed(answers, seed=0, epochs=2), tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert np.isnan(array_of(data["errors"])).tolist() == [False, False, False, True]
    assert array_of(data["counts"]).tolist() == [2, 2, 2, 0]
    assert data["names"] is None


def test_a_map_of_other_objects_is_an_error(tmp_path, cities, fit):
    smaller = dataclasses.replace(fit, embedding=fit.embedding[:5], names=None)
    with pytest.raises(ValueError, match="21 objects, but the map has 5"):
        ct.write_report(cities, smaller, tmp_path / "report.html")
    others = dataclasses.replace(cities, names=("Atlantis", *cities.names[1:]))
    with pytest.raises(ValueError, match=r"different names \('Atlantis'\)"):
        ct.write_report(others, fit, tmp_path / "report.html")
    with pytest.raises(ValueError, match="different names"):
        ct.advice(others, fit)


def test_the_page_shows_how_the_loss_was_chosen(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    race = data_of(tmp_path / "report.html")["race"]
    assert [row["loss"] for row in race] == [candidate.loss for candidate in fit.candidates]
    assert len({row["rounds"] for row in race}) > 1
    # Candidates that dropped out earlier are compared with the winner on the answers of their own rounds.
    assert all(row["held_out_error"] == pytest.approx(race[0]["held_out_error"] + row["behind"]) for row in race)
    chosen = fact(facts(fit, cities, None), "Loss").value
    assert chosen == f"{race[0]['loss']} with penalty {race[0]['penalty']:g}, {fit.choice_in_words}"
    ct.write_report(cities, ct.embed(cities, loss="ste", penalty=0, seed=0, epochs=2), tmp_path / "plain.html")
    assert data_of(tmp_path / "plain.html")["race"] == []


def test_a_race_of_an_older_file_without_paired_differences_is_shown(tmp_path, cities, fit):
    older = dataclasses.replace(fit, candidates=tuple(Candidate(*candidate[:4]) for candidate in fit.candidates))
    ct.write_report(cities, older, tmp_path / "report.html")
    assert data_of(tmp_path / "report.html")["race"][0]["behind"] is None
    assert "percentage points ahead of" in fact(facts(older, cities, None), "Loss").value


def test_the_page_names_the_central_object_and_the_outliers(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html")
    central = ct.centrality(cities)
    (line,) = [line for line in data_of(tmp_path / "report.html")["facts"] if line["name"] == "Most central"]
    assert line["value"].startswith(central.name_of(central.medoid))
    points = np.random.default_rng(0).normal(size=(20, 2))
    points[3] = 15.0
    answers = ct.datasets.simulated(points, 2000, seed=0)
    ct.write_report(answers, ct.embed(answers, loss="ste", penalty=0, seed=0, epochs=2), tmp_path / "far.html")
    (line,) = [line for line in data_of(tmp_path / "far.html")["facts"] if line["name"] == "Most central"]
    assert line["note"].endswith("far from all others: 3")


# ---- facts -------------------------------------------------------------------------------------------------------


def fact(lines, name):
    return next(line for line in lines if line.name == name)


def test_groups_have_a_section_and_are_the_first_column_to_colour_by(tmp_path, cities, fit):
    groups = ct.cluster(fit, 3, maps=[fit.embedding, fit.embedding[::-1]])
    ct.write_report(cities, fit, tmp_path / "report.html", groups=groups, labels={"kind": ["a"] * 21})
    page = data_of(tmp_path / "report.html")
    assert [column["name"] for column in page["columns"]] == ["group", "kind"]
    assert sum(len(row["members"]) for row in page["groups"]["rows"]) == 21
    assert page["groups"]["doubtful"] == groups.doubtful.tolist()
    assert page["groups"]["sentence"].startswith("3 groups. ")
    assert all(f"(around {fit.names[row['around']]})" in " ".join(page["columns"][0]["categories"])
               for row in page["groups"]["rows"])  # fmt: skip
    with pytest.raises(ValueError, match=r"groups is \[0, 1\]; it must be a Clustering"):
        ct.write_report(cities, fit, tmp_path / "x.html", groups=[0, 1])
    with pytest.raises(ValueError, match="groups is a clustering of 2 objects, but the map has 21"):
        ct.write_report(cities, fit, tmp_path / "x.html", groups=ct.objects.Clustering(np.array([0, 1]), "average"))


def test_errors_come_with_their_interval(cities):
    train, test = cities.split(0.3, np.random.default_rng(0))
    result = ct.embed(train, seed=0, epochs=10)
    lines = facts(result, train, test)
    for name, part in (("Training error", train), ("Held-out error", test)):
        error = ct.triplet_error(part, result.embedding)
        number = ct.metrics.effective_number(part, result.embedding)
        low, high = ct.metrics.error_interval(error, number)
        expected = f"{100 * error:.1f} % (95 % interval {100 * low:.1f} % to {100 * high:.1f} %)"
        assert fact(lines, name).value == expected
        assert fact(lines, name).note.startswith(f"{len(part):,} comparisons")
    assert fact(lines, "Chance level").value == "50.0 %"


def test_answers_held_out_by_the_fit_do_not_count_as_training_answers(cities):
    result = ct.embed(cities, seed=0, validation=0.25)
    lines = facts(result, cities, None)
    assert fact(lines, "Training error").value.startswith(f"{100 * result.best_record.train_error:.1f} %")
    assert fact(lines, "Training error").note.startswith("75.0 % of the answers")
    assert fact(lines, "Validation error").value.startswith(f"{100 * result.best_record.validation_error:.1f} %")
    assert fact(lines, "Validation error").note.startswith("25.0 % of the answers")


@pytest.mark.parametrize("reason", list(STOPPED_BY))
def test_every_reason_to_stop_is_explained(fit, cities, reason):
    lines = facts(dataclasses.replace(fit, stopped_by=reason), cities, None)
    assert STOPPED_BY[reason] in fact(lines, "Stopped").note


# ---- violations --------------------------------------------------------------------------------------------------


def test_violated_answers_may_have_no_weight():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], weights=[1.0, 0.0])
    (violation,) = most_violated(answers, [[0.0], [1.0], [3.0]])
    assert violation.objects == (0, 2, 1)


@pytest.mark.parametrize("quadruplets", [False, True])
def test_the_most_violated_answers_are_those_that_a_full_search_finds(quadruplets):
    data = ct.datasets.synthetic(8, 2, 600, 100, flipped=0.3, quadruplets=quadruplets, seed=0)
    violations = most_violated(data.train, data.points, most=40)
    near, far = ct.metrics.distances(data.train, data.points)
    times = {}

    def pairs(row):  # (i, j) and (j, i) are the same pair
        return frozenset(row[:2]), frozenset(row[2:] if quadruplets else (row[0], row[2]))

    for row, a, b in zip(data.train.rows.tolist(), near, far, strict=True):
        if a >= b:
            times.setdefault(pairs(row), [a - b, 0])[1] += 1
    ranked = sorted(times.items(), key=lambda item: -item[1][0])[: len(violations)]
    assert [violation.near - violation.far for violation in violations] == pytest.approx(
        [excess for _, (excess, _) in ranked]
    )
    assert all(violation.times == times[pairs(violation.objects)][1] for violation in violations)
    assert len(violations) == min(40, len(times))
    assert any(violation.times > 1 for violation in violations) or quadruplets


def test_a_perfect_map_has_no_violated_answers():
    data = ct.datasets.synthetic(20, 2, 300, 100, seed=0)
    assert most_violated(data.train, data.points) == []


def test_a_violated_answer_names_the_people_and_lines():
    answers = ct.Comparisons.from_triplets(
        [[0, 1, 2], [0, 2, 1], [0, 2, 1], [0, 2, 1]], people=["ann", "bob", "cleo", "bob"]
    )
    (violation,) = most_violated(answers, [[0.0], [1.0], [3.0]])
    assert (violation.times, violation.people, violation.lines) == (3, ("bob", "cleo"), ())


def test_the_page_names_the_first_three_people_who_gave_a_violated_answer(tmp_path):
    rows = [[0, 1, 2], [1, 0, 2], [2, 1, 0]] * 9 + [[0, 2, 1]] * 5
    answers = ct.Comparisons.from_triplets(rows, people=["x"] * 27 + ["ann", "bob", "cleo", "dan", "eve"])
    ct.write_report(answers, ct.embed(answers, 1, loss="ste", penalty=0, seed=0), tmp_path / "report.html")
    (violation,) = data_of(tmp_path / "report.html")["violations"]
    assert violation["people"] == "ann, bob, cleo and 2 more"


# ---- repeat ------------------------------------------------------------------------------------------------------


def repeated(result, comparisons):
    names = {"comparisons": comparisons}
    exec(python_code(result.settings, Code("comparisons")), names)
    return names["result"]


def test_the_python_code_repeats_the_replicates_of_a_fit_whose_penalty_was_chosen(cities):
    replicates = ct.replicate(cities, loss="ste", seed=3, n_replicates=3)
    result = replicates.result
    assert result.candidates
    assert result.settings.seed != replicates.seed  # the code names both
    names = {}
    exec(python_code(result.settings, Code("cities"), replicates=replicates), {"cities": cities}, names)
    assert (names["result"].embedding == result.embedding).all()
    assert (names["replicates"].maps == replicates.maps).all()


class OwnLoss(ct.Loss):
    """A user's class with a parameter called ``name``, which closerthan uses too."""

    name: float = 1.0

    def value(self, near, far):
        return max(0.0, near - far + self.name)

    def slopes(self, near, far):
        slope = 1.0 if near - far + self.name > 0.0 else 0.0
        return slope, -slope


@pytest.mark.slow
def test_the_python_code_runs_as_it_is(tmp_path, monkeypatch, cities):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(cities, "FILE.csv")
    # The solver "batch" compiles the fewest kernels.
    result = ct.embed(cities, loss=OwnLoss(2.0), penalty=0, solver="batch", seed=4, epochs=3, validation=cities)
    code = python_code(result.settings)
    assert f"from {__name__} import OwnLoss" in code
    names = {}
    exec(code.replace("FILE", "FILE.csv"), names)
    assert (names["result"].embedding == result.embedding).all()


def test_the_python_code_names_the_classes_that_the_reader_must_define(tmp_path, cities):
    ct.embed(cities, loss=OwnLoss(2.0), penalty=0, solver="batch", seed=4, epochs=3).save(tmp_path / "fit.npz")
    code = python_code(ct.Result.load(tmp_path / "fit.npz").settings)
    assert "# OwnLoss is your own class: define or import it first" in code
    assert "loss=OwnLoss(name=2.0)" in code


@pytest.mark.parametrize("loss", [*ct.losses.LOSSES, ct.losses.SOE(margin=2.0)], ids=str)
def test_the_python_code_makes_the_same_map_for_every_loss(cities, loss):
    result = ct.embed(cities, n_dims=3, loss=loss, penalty=0, seed=4, epochs=3, n_starts=2, tolerance=None)
    assert (repeated(result, cities).embedding == result.embedding).all()


@pytest.mark.parametrize(
    "solver",
    [*ct.solvers.SOLVERS, ct.solvers.SVRG(step=ct.solvers.StabilizedBB(epsilon=0.025), batch_size=20)],
    ids=lambda solver: str(solver)[:12],
)
def test_the_python_code_makes_the_same_map_for_every_solver(cities, solver):
    result = ct.embed(cities, solver=solver, seed=4, epochs=3, validation=0.1)
    again = repeated(result, cities)
    assert (again.embedding == result.embedding).all()
    assert again.settings == result.settings


def test_the_command_line_contains_the_settings_that_differ_from_the_defaults(cities):
    result = ct.embed(cities, loss="tste", penalty=0, n_dims=4, seed=1, epochs=2, validation=0.2, time_limit=60.0)
    assert command_line(result.settings, "a b.csv") == (
        "closerthan fit 'a b.csv' --dims 4 --loss tste --solver polyak --seed 1"
        " --penalty 0.0 --validation 0.2 --epochs 2 --time-limit 60.0"
    )


def test_settings_that_no_command_line_can_express_are_shown_in_python_only(tmp_path, cities):
    result = ct.embed(cities, loss="ste", penalty=0, solver=ct.solvers.LBFGS(memory=5), seed=1, epochs=2)
    assert command_line(result.settings) is None
    ct.write_report(cities, result, tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert data["command"] is None
    assert "ct.solvers.LBFGS(memory=5)" in data["python"]


def test_a_command_line_that_is_passed_is_shown_unchanged(tmp_path, cities, fit):
    ct.write_report(cities, fit, tmp_path / "report.html", command="closerthan fit x.csv", python="import this")
    assert data_of(tmp_path / "report.html")["command"] == "closerthan fit x.csv"
    assert data_of(tmp_path / "report.html")["python"] == "import this"


def test_a_fit_that_may_not_be_reproducible_has_a_warning(cities, fit):
    assert reproducibility_warning(fit.settings, "epochs") is None
    assert "earlier or later" in reproducibility_warning(fit.settings, "time_limit")
    assert "slightly different" in reproducibility_warning(fit.settings.replace(solver="hogwild"), "epochs")
    assert "No seed" in reproducibility_warning(
        ct.embed(cities, loss="ste", penalty=0, epochs=1, seed=None).settings, "epochs"
    )


@pytest.mark.parametrize(
    ("by", "unit"),
    [("people", "answers of held-out participants"), ("answers", "held-out answers")],
)
def test_the_methods_paragraph_contains_the_numbers_of_the_fit(tmp_path, by, unit):
    x = np.random.default_rng(0).standard_normal((10, 2))
    rows = ct.datasets.simulated(x, 900, noise="ste", seed=0).rows
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(900) // 100)
    fitted, unseen = answers.split(0.2, np.random.default_rng(0), by=by)
    many = ct.replicate(fitted, n_replicates=6, loss="ste", penalty=0, seed=4)
    ct.write_report(fitted, many.result, tmp_path / "report.html", test=unseen, findings=many)
    paragraph = data_of(tmp_path / "report.html")["methods"]
    error = next(fact for fact in data_of(tmp_path / "report.html")["facts"] if fact["name"] == "Held-out error")
    for text in (
        "10 objects in 2 dimensions",
        f"{fitted.n_answers:,} answers from {fitted.n_people} participants",
        "the loss ste;",
        f"closerthan {ct.__version__} (solver polyak, seed 4)",
        f"On {unit}, the map predicted {error['value']} of the comparisons incorrectly",
        "6 more maps to the same answers with a random weight for each participant (Bayesian bootstrap)",
    ):
        assert text in paragraph


def test_the_methods_paragraph_asks_for_missing_numbers(tmp_path, cities):
    ct.write_report(cities, ct.embed(cities, seed=0), tmp_path / "report.html")
    paragraph = data_of(tmp_path / "report.html")["methods"]
    assert "[measure the error on held-out answers]" in paragraph
    assert "which had the lowest error on held-out answers among " in paragraph
    assert "each with penalties of several strengths" in paragraph


@pytest.mark.parametrize("value", [1.23456789e-7, 0.000123456789, 1 / 3, 12.3456789, 123456.789, 1.23456789e11])
def test_numbers_in_the_page_have_six_digits_whatever_their_size(value):
    (number,) = rounded(np.array([value]))
    assert number == pytest.approx(value, rel=5e-6)
    assert len(f"{number:e}".partition("e")[0].rstrip("0").replace(".", "")) == 6
