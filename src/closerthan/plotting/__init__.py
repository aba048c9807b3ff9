"""Figures of maps, fits and people; each function returns a matplotlib Figure.

The figures do not use pyplot, so they work without a display; save them with ``figure.savefig("map.png")``. Names of
objects are drawn literally: ``$`` and ``_`` are not interpreted as mathematics.
"""

from closerthan.plotting.charts.accuracy import accuracy_figure
from closerthan.plotting.charts.calibration import calibration_figure
from closerthan.plotting.charts.convergence import convergence_figure, steps_figure
from closerthan.plotting.charts.dims import dims_figure
from closerthan.plotting.charts.learning_curve import learning_curve_figure
from closerthan.plotting.charts.margin import margin_figure
from closerthan.plotting.charts.object_error import object_error_figure
from closerthan.plotting.charts.people import people_figure, people_maps_figure, people_matrix_figure
from closerthan.plotting.charts.scale import scale_figure
from closerthan.plotting.charts.sparse_dimensions import dimensions_figure, profile_figure
from closerthan.plotting.charts.weights import weights_figure
from closerthan.plotting.maps.dendrogram import dendrogram_figure
from closerthan.plotting.maps.ellipses import ellipses_figure
from closerthan.plotting.maps.neighbours import neighbours_figure
from closerthan.plotting.maps.overlay import overlay_figure
from closerthan.plotting.maps.scatter import map_figure
from closerthan.plotting.maps.views import views_figure

__all__ = [
    "accuracy_figure",
    "calibration_figure",
    "convergence_figure",
    "dendrogram_figure",
    "dimensions_figure",
    "dims_figure",
    "ellipses_figure",
    "learning_curve_figure",
    "map_figure",
    "margin_figure",
    "neighbours_figure",
    "object_error_figure",
    "overlay_figure",
    "people_figure",
    "people_maps_figure",
    "people_matrix_figure",
    "profile_figure",
    "scale_figure",
    "steps_figure",
    "views_figure",
    "weights_figure",
]
