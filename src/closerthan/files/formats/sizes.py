"""Sizes: files that unpack to far more than any answers do ask for no memory."""

__all__ = ["LARGE", "LONGEST_LINE", "PACKED", "TEXT", "too_large"]

LARGE = 1 << 30
TEXT = 1 << 26  # bytes; less than for arrays, since a table of text takes several times its size in memory
LONGEST_LINE = 1 << 22  # characters: a hundred thousand columns with names of forty
PACKED = 200  # times; numbers of objects are packed to a third or a tenth


def too_large(size: int, packed: int) -> str | None:
    """What is wrong with a file of ``packed`` bytes that unpacks to ``size`` bytes; None: nothing.

    Examples
    --------
    >>> too_large(10 * LARGE, 1000)
    'it unpacks to 10,737,418,240 bytes, more than 200 times its size, which no answers do'
    >>> too_large(LARGE, LARGE // 3)
    """
    if size <= LARGE or size <= PACKED * packed:
        return None
    return f"it unpacks to {size:,} bytes, more than {PACKED} times its size, which no answers do"
