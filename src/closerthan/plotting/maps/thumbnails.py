"""Thumbnails: small pictures of the objects, from image files or arrays."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_pictures", "thumbnail", "thumbnail_box", "thumbnail_sources"]

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # other decoders, one of which runs Ghostscript, are not used
MOST_BYTES = 100 * 2**20
MOST_PIXELS = 10**8  # a small compressed file can hold any number of pixels
OVERSAMPLING = 3  # pixels of a thumbnail per pixel of the figure, so that it is sharp in print


def thumbnail_sources(thumbnails: Any, names: Sequence[str]) -> dict[int, Any]:
    """Return the picture of each object that has one, by the object's number.

    Parameters
    ----------
    thumbnails
        One picture per object (None where there is none), or a mapping from names to pictures.
    names
        Names of all objects.

    Examples
    --------
    >>> thumbnail_sources({"bee": "bee.png"}, ["ant", "bee"])
    {1: 'bee.png'}
    >>> thumbnail_sources(["ant.png", None], ["ant", "bee"])
    {0: 'ant.png'}
    """
    if isinstance(thumbnails, Mapping):
        number = {name: position for position, name in enumerate(names)}
        for name in thumbnails:
            if str(name) not in number:
                raise ValueError(
                    f"there is a thumbnail of {name!r}, but no object has that name; remove it or rename it"
                )
        return {number[str(name)]: picture for name, picture in thumbnails.items() if picture is not None}
    if len(thumbnails) != len(names):
        raise ValueError(
            f"there are {len(thumbnails)} thumbnails for {len(names)} objects; pass None where there is none"
        )
    return {position: picture for position, picture in enumerate(thumbnails) if picture is not None}


def thumbnail(picture: Any, pixels: int) -> Any:
    """Return a picture as a PIL image with at most ``pixels`` pixels per side.

    ``picture`` is the path of an image file, or an array of grey, RGB or RGBA values: floats from 0 to 1, or integers
    from 0 to 255.

    Examples
    --------
    >>> thumbnail(np.zeros((200, 100, 3)), 64).size
    (32, 64)
    """
    from PIL import Image

    image = _opened(Path(picture), pixels) if isinstance(picture, str | Path) else Image.fromarray(_bytes(picture))
    image.thumbnail((pixels, pixels))
    return image


def thumbnail_box(
    picture: Any, position: Any, side: float, dpi: float, **options: Any
) -> tuple[Any, NDArray[np.float64]]:
    """Return a matplotlib artist that shows a thumbnail, and its width and height in pixels.

    Parameters
    ----------
    picture
        As in :func:`thumbnail`. A picture smaller than ``side`` is not enlarged.
    position
        Where the artist is drawn.
    side
        Length of the longer side in pixels.
    dpi
        Pixels per inch of the figure.
    **options
        Passed to matplotlib's ``AnnotationBbox``.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    image = thumbnail(picture, max(round(OVERSAMPLING * side), 1))
    scale = min(side / max(image.size), 1.0)
    content = OffsetImage(np.asarray(image.convert("RGBA")), zoom=scale * 72 / dpi)
    return AnnotationBbox(content, position, **options), scale * np.array(image.size)


def check_pictures(paths: Iterable[Path]) -> None:
    """Raise an error for the first image file that cannot be read, so that a bad file is found before a long fit.

    Examples
    --------
    >>> check_pictures([Path("nowhere.png")])
    Traceback (most recent call last):
    ...
    ValueError: nowhere.png is not an image that can be read (there is no such file); use PNG, JPEG, GIF, WEBP or BMP
    """
    for path in paths:
        thumbnail(path, 16)


def _opened(path: Path, pixels: int) -> Any:
    from PIL import Image, UnidentifiedImageError

    def refused(why: str) -> ValueError:
        return ValueError(f"{path} is not an image that can be read ({why}); use {', '.join(FORMATS[:-1])} or BMP")

    if not path.exists():
        raise refused("there is no such file")
    if not path.is_file():  # reading from a pipe or a device may never end
        raise refused("it is not a regular file")
    if path.stat().st_size > MOST_BYTES:
        raise refused(f"it is larger than {MOST_BYTES // 2**20} MB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # MOST_PIXELS is our own limit
            opened = Image.open(path, formats=FORMATS)
        with opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise refused(f"it has {opened.width} x {opened.height} pixels")
            opened.draft("RGB", (pixels, pixels))
            return opened.convert("RGBA" if "A" in opened.getbands() or "transparency" in opened.info else "RGB")
    except Image.DecompressionBombError:
        raise refused("it has far too many pixels") from None
    except UnidentifiedImageError:
        raise refused("its format is not supported") from None
    except MemoryError:
        raise
    except Exception as error:  # damaged files raise errors of many kinds
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise refused(" ".join(str(error).split()) or type(error).__name__) from None


def _bytes(picture: Any) -> Any:
    array = np.asarray(picture)
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or array.dtype.kind not in "iufb":
        raise ValueError(
            f"a thumbnail has shape {array.shape} and type {array.dtype}; expected (height, width), or (height, width, "
            "3 or 4)"
        )
    if array.dtype == np.uint8:
        return array
    top = 255 if array.dtype.kind in "iu" else 1
    if not (array.min(initial=0) >= 0 and array.max(initial=0) <= top):
        raise ValueError(
            f"a thumbnail has values from {array.min()} to {array.max()}; floats range from 0 to 1, integers from 0 to "
            "255"
        )
    return np.round(array.astype(np.float64) * (255 / top)).astype(np.uint8)
