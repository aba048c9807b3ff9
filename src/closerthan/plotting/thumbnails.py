"""Thumbnails: small pictures of the objects, from image files or arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["thumbnail", "thumbnail_sources"]


def thumbnail_sources(thumbnails: Any, names: Sequence[str]) -> dict[int, Any]:
    """Which object has which picture: from a sequence (one per object, None: no picture) or a mapping from names.

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
    """A picture (path of an image file, or array of grey, RGB or RGBA) as a PIL image, at most ``pixels`` per side.

    Arrays of floats run from 0 to 1, arrays of whole numbers from 0 to 255.

    Examples
    --------
    >>> thumbnail(np.zeros((200, 100, 3)), 64).size
    (32, 64)
    """
    from PIL import Image, UnidentifiedImageError

    if isinstance(picture, str | Path):
        try:
            with Image.open(picture) as opened:
                opened.draft("RGB", (pixels, pixels))
                image = opened.convert("RGBA" if "A" in opened.getbands() or "transparency" in opened.info else "RGB")
        except UnidentifiedImageError:
            raise ValueError(f"{picture} is not an image that can be read; use PNG, JPEG, GIF or WebP") from None
    else:
        image = Image.fromarray(_bytes(picture))
    image.thumbnail((pixels, pixels))
    return image


def _bytes(picture: Any) -> Any:
    array = np.asarray(picture)
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or array.dtype.kind not in "iufb":
        raise ValueError(
            f"a thumbnail has shape {array.shape} and type {array.dtype}; expected (height, width), with 3 or 4 colours"
        )
    if array.dtype == np.uint8:
        return array
    top = 255 if array.dtype.kind in "iu" else 1
    if not (array.min(initial=0) >= 0 and array.max(initial=0) <= top):
        raise ValueError(
            f"a thumbnail has values from {array.min()} to {array.max()}; floats run from 0 to 1, whole numbers to 255"
        )
    return np.round(array.astype(np.float64) * (255 / top)).astype(np.uint8)
