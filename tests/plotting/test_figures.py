import dataclasses
import inspect
import io
import itertools
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import closerthan as ct
from closerthan import plotting
from closerthan.evaluate.cross_validation import Scores
from closerthan.evaluate.dims import DimsChoice
from closerthan.plotting.labels.placement import PointCounts, Spacing, place_labels
from closerthan.plotting.maps.ellipses import are_readable
from closerthan.plotting.maps.scatter import MapOptions, MapStyle

HARD_NAMES = [
    "$a_1$ and $",
    "_hidden",
    "<script>alert(1)</script>",
    "long " * 60,
    "two\nlines",
    "%s {} \\frac{",
    "",
    "Å",
]


@pytest.fixture(scope="module")
def cities():
    answers = ct.datasets.eurodist().comparisons()
    return answers, ct.embed(answers, seed=0, validation=0.2)


def rendered(figure):
    """Return the figure as an array; text that cannot be drawn raises a warning, which is an error in tests."""
    file = io.BytesIO()
    figure.savefig(file)
    return np.asarray(Image.open(file).convert("L"))


def labels_of(ax):
    return [text for text in ax.texts if text.get_gid() == "label"]


def overlapping(figure, ax):
    rendered(figure)
    boxes = [text.get_window_extent() for text in labels_of(ax)]
    return [
        (a, b)
        for a, b in itertools.combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def test_every_city_has_a_label_and_no_two_overlap(cities):
    figure = plotting.map_figure(cities[1].embedding, cities[1].names)
    ax = figure.axes[0]
    assert {text.get_text() for text in labels_of(ax)} == set(cities[1].names)
    assert not overlapping(figure, ax)


@pytest.mark.parametrize("n_objects", [60, 500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_labels_of_many_objects_do_not_overlap_and_omitted_ones_are_counted(n_objects):
    x = np.random.default_rng(0).normal(size=(n_objects, 2))
    figure = plotting.map_figure(x, [f"object {number}" for number in range(n_objects)])
    ax = figure.axes[0]
    n_labels = len(labels_of(ax))
    assert n_labels >= 30
    assert not overlapping(figure, ax)
    note = f"{n_objects - n_labels:,} of {n_objects:,} names not shown"
    assert (note in ax.get_xlabel()) == (n_labels < n_objects)


points = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=40)


@settings(deadline=None)
@given(points, st.floats(5, 120), st.floats(5, 30))
def test_placed_labels_stay_inside_and_apart(places, width, height):
    spacing = Spacing(rings=(0.0, 20.0), most_hidden=2)
    labels = place_labels(np.array(places), lambda _: (width, height), range(len(places)), (300.0, 200.0), spacing)
    for place in labels:
        assert place.x >= 0
        assert place.y >= 0
        assert place.x + width <= 300
        assert place.y + height <= 200
    for a, b in itertools.combinations(labels, 2):
        assert abs(a.x - b.x) >= width - 1e-9 or abs(a.y - b.y) >= height - 1e-9


def test_names_are_drawn_literally():
    x = np.random.default_rng(1).normal(size=(8, 2))
    figure = plotting.map_figure(x, HARD_NAMES, labels=["_a", "$b$", "<c>", None] * 2, title="$x_1")
    ax = figure.axes[0]
    rendered(figure)
    texts = {text.get_text() for text in labels_of(ax)}
    assert {"$a_1$ and $", "_hidden", "<script>alert(1)</script>", "two lines", "%s {} \\frac{"} <= texts
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"_a", "$b$", "<c>", "(none)"}
    assert ax.get_title(loc="left") == "$x_1"
    answers = [[0, 1, 2], [3, 4, 5], [6, 7, 0]]
    rendered(plotting.object_error_figure(answers, x, HARD_NAMES))
    rendered(plotting.overlay_figure(x, x[:, ::-1], HARD_NAMES, title="$"))


def test_both_axes_have_the_same_scale(cities):
    figure = plotting.map_figure(cities[1].embedding)
    rendered(figure)
    (x0, y0), (x1, y1) = figure.axes[0].transData.transform([[0, 0], [1, 1]])
    assert x1 - x0 == pytest.approx(y1 - y0)


@pytest.mark.parametrize("size", [None, (8.0, 3.5), (3.5, 8.0)])
def test_a_map_fills_its_frame(cities, size):
    figure = plotting.map_figure(cities[1].embedding, cities[1].names, size=size)
    rendered(figure)
    if size is not None:
        assert tuple(figure.get_size_inches()) == size
    ax = figure.axes[0]
    box = ax.get_position()
    assert box.width * box.height > 0.75
    (x0, y0), (x1, y1) = ax.transData.transform([[0, 0], [1, 1]])
    assert x1 - x0 == pytest.approx(y1 - y0)
    low, high = (ax.transAxes.inverted().transform(ax.transData.transform(corner)) for corner in
                 (cities[1].embedding.min(axis=0), cities[1].embedding.max(axis=0)))  # fmt: skip
    assert (high - low).max() > 0.8


def test_very_many_objects_in_one_place_are_drawn_and_their_names_counted():
    x = np.zeros((100_000, 2))
    x[0] = 1.0
    names = [f"n{number}" for number in range(len(x))]
    figure = plotting.map_figure(x, names)
    labelled = {text.get_text() for text in labels_of(figure.axes[0])}
    assert "n0" in labelled
    assert f"{len(x) - len(labelled):,} of 100,000 names not shown" in figure.axes[0].get_xlabel()


def test_points_in_a_box_are_counted():
    points = np.random.default_rng(0).uniform(-20, 220, (3000, 2))
    boxes = np.array([[0, 0, 100, 200], [40, 60, 44, 80], [-50, -50, 500, 500], [10, 10, 10, 10]], dtype=float)
    inside = ((points >= 0) & (points < [200, 100])).all(axis=1)
    expected = [int((inside & (points >= box[:2]).all(1) & (points < box[2:]).all(1)).sum()) for box in boxes]
    assert PointCounts(points, (200, 100)).within(boxes).tolist() == expected


def test_the_common_beginning_of_names_is_removed():
    names = [f"a folder of many pictures/picture {number}" for number in range(10)]
    figure = plotting.map_figure(np.random.default_rng(0).normal(size=(10, 2)), names)
    assert {text.get_text() for text in labels_of(figure.axes[0])} == {str(number) for number in range(10)}
    assert "without their common beginning 'a folder of" in figure.axes[0].get_xlabel()


def test_one_distant_object_does_not_squeeze_the_others():
    x = np.random.default_rng(0).normal(size=(30, 2))
    x[7] = [1e6, 1e6]
    figure = plotting.map_figure(x, [f"n{number}" for number in range(30)])
    ax = figure.axes[0]
    assert ax.get_xlim()[1] < 10
    assert "1 object lies far outside" in ax.get_xlabel()
    assert "n7" in {text.get_text() for text in labels_of(ax)}


@pytest.mark.parametrize("x", [np.zeros((5, 2)), np.zeros((1, 2)), np.ones((5, 1)), [[0, 0], [1, 0]], np.eye(2, 7)])
def test_maps_without_width_or_height_are_drawn(x):
    assert rendered(plotting.map_figure(x, [str(number) for number in range(len(x))])).min() < 200


def test_one_dimension_is_drawn_against_rank():
    ax = plotting.map_figure([[3.0], [1.0], [2.0]], ["c", "a", "b"]).axes[0]
    assert ax.collections[0].get_offsets().tolist() == [[3, 3], [1, 1], [2, 2]]
    assert ax.get_ylabel() == "rank"


def test_many_dimensions_are_drawn_by_the_chosen_principal_axes():
    x = np.random.default_rng(0).normal(size=(40, 5))
    ax = plotting.map_figure(x, axes=(3, 1)).axes[0]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), ct.geometry.principal_axes(x).coordinates[:, [3, 1]])
    assert ax.get_xlabel().startswith("principal axis 4")
    with pytest.raises(ValueError, match="choose two different axes from 0 to 4"):
        plotting.map_figure(x, axes=(1, 1))


def test_thumbnails_are_drawn_and_do_not_overlap(tmp_path):
    from matplotlib.offsetbox import AnnotationBbox

    Image.new("RGBA", (300, 100), (255, 0, 0, 128)).save(tmp_path / "red.png")
    x = np.random.default_rng(0).normal(size=(50, 2))
    names = [f"n{number}" for number in range(50)]
    pictures = [tmp_path / "red.png"] * 25 + [np.zeros((30, 90))] * 24 + [None]
    figure = plotting.map_figure(x, names, thumbnails=pictures)
    rendered(figure)
    boxes = [artist.get_window_extent() for artist in figure.axes[0].artists if isinstance(artist, AnnotationBbox)]
    assert 20 < len(boxes) < 50
    assert f"{49 - len(boxes)} of 49 thumbnails not shown" in figure.axes[0].get_xlabel()
    assert not any(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        for a, b in itertools.combinations(boxes, 2)
    )


@pytest.mark.parametrize("labels", [["a", "b", None], [1.0, 2.0, np.nan], list("abc")])
def test_a_thumbnail_has_a_frame_in_the_colour_of_its_object(labels):
    from matplotlib.colors import to_hex
    from matplotlib.offsetbox import AnnotationBbox

    labels = [*labels, *(float(n) if isinstance(labels[0], float) else "d" for n in range(20))]
    x = np.column_stack([np.arange(23.0), np.arange(23.0) ** 2])
    pictures = [np.zeros((9, 9))] * 3 + [None] * 20
    figure = plotting.map_figure(100 * x, labels=labels, thumbnails=pictures, names=[str(n) for n in range(23)])
    frames = [one.patch for one in figure.axes[0].artists if isinstance(one, AnnotationBbox)]
    points = {}
    for group in figure.axes[0].collections:
        numbers, places = group.get_array(), group.get_offsets()
        colours = group.get_facecolors() if numbers is None else group.to_rgba(numbers)
        points |= {tuple(place): to_hex(colours[at % len(colours)]) for at, place in enumerate(places)}
    boxes = [one for one in figure.axes[0].artists if isinstance(one, AnnotationBbox)]
    assert frames
    for frame, box in zip(frames, boxes, strict=True):
        assert frame.get_linewidth() > 1
        assert to_hex(frame.get_edgecolor()) == points[tuple(box.xy)]


@pytest.mark.parametrize(
    ("thumbnails", "message"),
    [
        ([None], "1 thumbnails for 3 objects"),
        ({"nobody": "x.png"}, "thumbnail of 'nobody'"),
        ([np.zeros(3), None, None], r"shape \(3,\)"),
        ([np.full((2, 2), 7.0), None, None], "from 0 to 1"),
    ],
)
def test_thumbnails_that_cannot_be_shown_are_errors(thumbnails, message):
    with pytest.raises(ValueError, match=message):
        plotting.map_figure(np.eye(3, 2), ["a", "b", "c"], thumbnails=thumbnails)


def test_a_file_that_is_not_an_image_is_an_error_that_names_it(tmp_path):
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(ValueError, match=r"text\.png is not an image"):
        plotting.map_figure(np.eye(2), ["a", "b"], thumbnails={"a": tmp_path / "text.png"})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"names": ["a"]}, "1 names for 2 objects"), ({"labels": [1, 2, 3]}, "3 labels for 2 objects")],
)
def test_a_wrong_number_of_names_or_labels_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        plotting.map_figure(np.eye(2), **options)


def test_every_option_of_a_map_is_a_field_of_its_style():
    assert list(MapOptions.__annotations__) == [field.name for field in dataclasses.fields(MapStyle)]
    listed = inspect.signature(plotting.map_figure).parameters
    assert set(MapOptions.__annotations__) < set(listed)


def test_an_unknown_option_is_an_error_that_names_the_valid_ones(cities):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'colour'; choose from: .*labels, .*show_names"):
        cities[1].plot(colour="red")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 5}, "size is 5; it must be 2 values"),
        ({"font_size": "8"}, "font_size is '8'; it must be a number"),
        ({"marker_size": -1.0}, "marker_size is -1.0; it must be positive"),
        ({"axes": (0,)}, r"axes is \(0,\); it must be 2 values"),
    ],
)
def test_an_option_of_the_wrong_type_is_an_error_that_names_it(cities, options, message):
    with pytest.raises(ValueError, match=message):
        cities[1].plot(**options)


@pytest.mark.parametrize(
    "labels",
    [np.linspace(0, 1, 40), [None] * 40, [f"group {number}" for number in range(40)], [np.nan, *range(39)]],
)
def test_any_column_of_labels_can_be_drawn(labels):
    rendered(plotting.map_figure(np.random.default_rng(0).normal(size=(40, 2)), labels=labels))


def test_figures_can_share_a_page(cities):
    from matplotlib.figure import Figure

    answers, result = cities
    figure = Figure(figsize=(12, 8))
    axes = figure.subplots(2, 3).ravel()
    for ax, draw in zip(
        axes,
        [
            lambda ax: plotting.map_figure(result.embedding, result.names, ax=ax),
            lambda ax: plotting.overlay_figure(result.embedding, result.embedding, ax=ax),
            lambda ax: plotting.steps_figure(result.history, ax=ax),
            lambda ax: plotting.dims_figure(dims_choice(0.2, 0.1), ax=ax),
            lambda ax: plotting.margin_figure(answers, result.embedding, ax=ax),
            lambda ax: plotting.object_error_figure(answers, result.embedding, ax=ax),
        ],
        strict=True,
    ):
        assert draw(ax) is figure
    assert len(figure.axes) == 6
    rendered(figure)


def test_an_overlay_joins_each_object_with_its_place_in_the_reference():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(12, 2))
    turned = 3 * reference @ np.array([[0, 1], [-1, 0]]) + 5
    ax = plotting.overlay_figure(turned, reference).axes[0]
    for segment, place in zip(ax.collections[0].get_segments(), reference, strict=True):
        np.testing.assert_allclose(segment, [place, place], atol=1e-9)


@pytest.mark.parametrize(("n_dims", "n_reference"), [(1, 1), (1, 3), (4, 2), (3, 3), (2, 1)])
def test_maps_of_any_dimensions_can_be_overlaid(n_dims, n_reference):
    rng = np.random.default_rng(0)
    rendered(plotting.overlay_figure(rng.normal(size=(9, n_dims)), rng.normal(size=(9, n_reference))))


@pytest.mark.parametrize("against", ["gradients", "seconds", "epoch"])
def test_convergence_shows_the_history(cities, against):
    history = cities[1].history
    figure = plotting.convergence_figure(history, against=against)
    rendered(figure)
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), getattr(history, against))
    np.testing.assert_array_equal(line.get_ydata(), history.objective)
    np.testing.assert_array_equal(figure.axes[1].lines[1].get_ydata(), history.validation_error)


@pytest.mark.slow
@pytest.mark.parametrize("solver", list(ct.solvers.SOLVERS))
def test_the_steps_of_every_solver_can_be_drawn(solver):
    answers = ct.datasets.eurodist().comparisons()
    history = ct.embed(answers, solver=solver, seed=0, epochs=3).history
    rendered(plotting.steps_figure({solver: history}))
    rendered(plotting.convergence_figure(history))


def test_an_unknown_axis_and_an_empty_history_are_errors(cities):
    with pytest.raises(ValueError, match="against is 'days'; it must be \"gradients\" or"):
        plotting.steps_figure(cities[1].history, against="days")
    with pytest.raises(ValueError, match="empty"):
        plotting.convergence_figure(ct.History())


def dims_choice(*errors):
    """Return a result of choose_dims in which ten units have these errors, plus or minus one percentage point."""
    spread = np.linspace(-0.01, 0.01, 10)
    scores = {
        number: Scores(np.array([error]), np.array([error - 0.02]), 0.0, error + spread, np.ones(10))
        for number, error in enumerate(errors, 1)
    }
    return DimsChoice(scores, "people", 5, 4, "ste", False, len(errors))


def test_the_figure_of_dimensions_shows_every_error_and_the_choice():
    figure = plotting.dims_figure(dims_choice(0.30, 0.12, 0.121, 0.122))
    (ax,) = figure.axes
    assert ax.get_title(loc="left") == "Chosen: 2 dimensions"
    low, high = ax.get_ylim()
    assert 0.05 < low < 0.10  # not from zero
    assert 0.31 < high < 0.4
    assert "chance level: 50 %" in ax.get_xlabel()
    figure.draw_without_rendering()
    box, (legend,) = figure.bbox, figure.legends
    inside = legend.get_window_extent()
    assert box.x0 <= inside.x0
    assert inside.x1 <= box.x1
    assert box.y0 <= inside.y0


def test_the_figure_of_dimensions_draws_the_chance_level_if_errors_are_close_to_it():
    (ax,) = plotting.dims_figure(dims_choice(0.48, 0.44, 0.44)).axes
    assert 0.5 in [line.get_ydata()[0] for line in ax.get_lines()]
    assert ax.get_ylim()[1] > 0.5


def test_agreement_rises_with_the_margin_when_answers_are_noisy():
    data = ct.datasets.synthetic(n_objects=50, n_dims=2, n_train=4000, n_test=1000, seed=0)
    noisy = data.points + np.random.default_rng(1).normal(scale=0.05, size=data.points.shape)
    curve = plotting.margin_figure(data.train, noisy).axes[0].containers[0].lines[0]
    agreement = curve.get_ydata()
    assert agreement[0] < 0.75
    assert agreement[-1] > 0.95


def test_no_entry_of_a_legend_is_truncated(cities, replicates):
    answers, result = cities
    for figure in (
        plotting.margin_figure(answers, result),
        plotting.object_error_figure(answers, result),
        plotting.ellipses_figure(replicates),
        plotting.neighbours_figure(replicates),
        plotting.calibration_figure(replicates),
        plotting.dims_figure(dims_choice(0.48, 0.44, 0.44)),
    ):
        boxes = [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None] + figure.legends
        texts = [text.get_text() for box in boxes for text in box.get_texts()]
        assert not [text for text in texts if text.endswith("…")]


def test_agreement_is_weighted():
    """One bin: three of four comparisons agree with the map, of weight 1 each; the fourth has weight 3."""
    rows = [[0, 1, 2], [0, 1, 3], [1, 0, 3], [3, 0, 2]]
    answers = ct.Comparisons.from_triplets(rows, weights=[1.0, 1.0, 1.0, 3.0])
    curve = plotting.margin_figure(answers, np.array([[0.0], [1.0], [3.0], [7.0]])).axes[0].containers[0].lines[0]
    assert curve.get_ydata() == pytest.approx([0.5])


def test_bars_show_the_worst_objects_first(cities):
    answers, result = cities
    ax = plotting.object_error_figure(answers, result.embedding).axes[0]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(ct.metrics.object_errors(answers, result.embedding).tolist(), reverse=True)
    worst = int(ct.metrics.object_errors(answers, result.embedding).argmax())
    assert ax.get_yticklabels()[0].get_text() == result.names[worst]


def test_with_many_objects_the_worst_are_bars_and_all_are_a_curve():
    data = ct.datasets.synthetic(n_objects=200, n_dims=2, n_train=5000, n_test=1000, flipped=0.2, seed=0)
    figure = plotting.object_error_figure(data.train, data.points)
    assert len(figure.axes[0].patches) == 30
    assert len(figure.axes[1].lines[0].get_ydata()) == 200


def test_objects_without_comparisons_are_counted_but_not_drawn():
    ax = plotting.object_error_figure([[0, 1, 2]], np.arange(5.0)[:, None]).axes[0]
    rendered(ax.figure)
    assert len(ax.patches) == 3
    assert "2 of 5 objects have no comparisons" in {text.get_text() for text in ax.texts}


@pytest.mark.slow
def test_figures_do_not_import_pyplot():
    code = (
        "import sys, closerthan as ct\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import closerthan.plotting\n"
        "assert 'matplotlib' not in sys.modules\n"
        "ct.plotting.map_figure([[0.0, 0.0], [1.0, 1.0]], ['a', 'b'], labels=range(2))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_in_a_notebook_do_not_overlap():
    from closerthan.plotting.notebook import small_map

    x = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]])
    picture = small_map(x, ["first", "second", "third"])
    assert picture.count("<circle") == 3
    assert [name for name in ("first", "second", "third") if f">{name}</text>" in picture] == ["first", "third"]
    assert "<title>second</title>" in picture


def test_a_notebook_shows_the_picture_of_a_figure(cities):
    _, result = cities
    # IPython's display formatter asks for _repr_png_; without it, a notebook prints <Figure ...>.
    picture = result.plot()._repr_png_()
    width, height = Image.open(io.BytesIO(picture)).size
    # Matplotlib rounds numbers of pixels down.
    assert (width, height) == pytest.approx(tuple(result.plot().get_size_inches() * 120), abs=1)
    assert not pickle.loads(pickle.dumps(result.plot())).axes[0].get_title()


@pytest.fixture(scope="module")
def replicates():
    return ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=6, loss="soe", penalty=0, seed=0)


def test_figures_accept_the_objects_that_the_library_returns(cities, replicates):
    answers, result = cities
    tree = ct.cluster(result, 3)
    for figure in (
        plotting.map_figure(result),
        plotting.overlay_figure(result, replicates.result),
        plotting.convergence_figure(result),
        plotting.steps_figure({"one": result, "two": result}),
        plotting.margin_figure(answers, result),
        plotting.object_error_figure(answers, result),
        plotting.dendrogram_figure(tree),
        plotting.views_figure([result, result]),
        plotting.ellipses_figure(replicates),
        plotting.neighbours_figure(replicates),
        plotting.calibration_figure(replicates),
        plotting.calibration_figure(replicates.calibration),
    ):
        rendered(figure)
    assert {text.get_text() for text in labels_of(plotting.map_figure(result).axes[0])} == set(result.names)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_replicates_are_drawn_in_any_number_of_dimensions(n_dims):
    answers = ct.datasets.simulated(np.random.default_rng(0).standard_normal((12, n_dims)), 800, seed=0)
    replicates = ct.replicate(answers, n_dims, n_replicates=6, loss="ste", penalty=0, seed=0)
    rendered(plotting.ellipses_figure(replicates))
    rendered(plotting.neighbours_figure(replicates))


def test_no_ellipse_touches_the_frame(replicates):
    figure = plotting.ellipses_figure(replicates)
    figure.draw_without_rendering()
    frame = figure.axes[0].get_window_extent()
    for patch in figure.axes[0].patches:
        box = patch.get_window_extent()
        assert frame.x0 + 3 < box.x0 < box.x1 < frame.x1 - 3
        assert frame.y0 + 3 < box.y0 < box.y1 < frame.y1 - 3


def test_ellipses_that_would_merge_into_one_blob_are_omitted_with_a_note():
    answers = ct.datasets.simulated(np.random.default_rng(0).standard_normal((90, 2)), 2500, noise="ste", seed=0)
    replicates = ct.replicate(answers, n_replicates=6, loss="ste", penalty=0, seed=0)
    ax = plotting.ellipses_figure(replicates).axes[0]
    assert "95 % ellipses not shown" in ax.get_xlabel().replace("\n", " ")
    ellipses = replicates.ellipses(0.95)
    assert not are_readable(replicates.result.embedding, ellipses.moments, ellipses.radius(2))


def map_of_a_hundred():
    places = np.random.default_rng(0).standard_normal((100, 2))
    return places, [f"{first} {second}" for first in HARD_WORDS for second in HARD_WORDS]


HARD_WORDS = ["apple", "pear", "plum", "cherry", "quince", "melon", "grape", "lemon", "orange", "fig"]


def test_a_narrow_figure_has_smaller_text_and_still_many_names():
    places, names = map_of_a_hundred()
    usual, narrow = (plotting.map_figure(places, names, size=size) for size in (None, (85 / 25.4, 70 / 25.4)))
    assert labels_of(narrow.axes[0])[0].get_fontsize() < 0.75 * labels_of(usual.axes[0])[0].get_fontsize()
    assert len(labels_of(narrow.axes[0])) > 20
    assert plotting.map_figure(places, names, font_size=6.5).axes[0].xaxis.get_ticklabels()[0].get_fontsize() == 6.5
    (dots,) = plotting.map_figure(places, names, marker_size=3.0).axes[0].collections
    assert dots.get_sizes().tolist() == [9.0]


@pytest.mark.parametrize("size", [(57 / 25.4, None), (85 / 25.4, 70 / 25.4), (7.5, None), (7.0, 3.0)])
def test_no_text_of_a_figure_is_cut_off(size):
    places, names = map_of_a_hundred()
    title = "Fruits and other things that people compared with each other, in two dimensions"
    figure = plotting.map_figure(places, names, size=size, title=title)
    rendered(figure)
    ax = figure.axes[0]
    assert "names not shown" in ax.get_xlabel().replace("\n", " ")
    for text in (ax.title, ax.xaxis.label, ax._left_title, *labels_of(ax)):
        if not text.get_text():
            continue
        box = text.get_window_extent()
        assert box.x0 > -1
        assert box.y0 > -1
        assert box.x1 < figure.bbox.width + 1
        assert box.y1 < figure.bbox.height + 1


@pytest.mark.parametrize("n_objects", [30, 100])
def test_no_name_covers_a_dot_where_there_is_room(n_objects):
    places, names = map_of_a_hundred()
    figure = plotting.map_figure(places[:n_objects], names[:n_objects])
    rendered(figure)
    ax = figure.axes[0]
    (dots,) = ax.collections
    radius = np.sqrt(dots.get_sizes()[0]) / 2 * figure.dpi / 72
    points = ax.transData.transform(places[:n_objects])
    covered = 0
    for text in labels_of(ax):
        box = text.get_window_extent()
        low, high = np.array([box.x0, box.y0]) - 0.7 * radius, np.array([box.x1, box.y1]) + 0.7 * radius
        covered += int(((points > low) & (points < high)).all(axis=1).any())
    assert covered == 0


def test_the_matrix_of_people_states_how_many_it_shows_and_is_light_where_errors_are_high():
    def figure_of(n_people):
        matrix = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        everybody = dict.fromkeys(map(str, range(n_people)), 0)
        return plotting.people_matrix_figure(
            SimpleNamespace(n_groups=1, group=everybody, matrix_people=("0", "1", "2"), matrix=matrix)
        )

    ax = figure_of(7).axes[0]
    assert "3 of 7 people" in ax.get_title(loc="left").replace("\n", " ")
    (image,) = ax.images
    low, high = image.cmap(0.0)[:3], image.cmap(1.0)[:3]
    assert sum(low) < 1 < sum(high)  # the report has the same ramp
    assert "of 3 people" not in figure_of(3).axes[0].get_title(loc="left").replace("\n", " ")
