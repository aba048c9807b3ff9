"""Size limits that protect against files that decompress to far more data than answers need."""

__all__ = ["LARGE", "LONGEST_LINE", "PACKED", "TEXT", "too_large"]

LARGE = 1 << 30  # number of bytes to which any file may decompress
TEXT = 1 << 26  # bytes; lower than for arrays because a table of text takes several times its size in memory
LONGEST_LINE = 1 << 22  # enough characters for a hundred thousand columns with names of forty characters
PACKED = 200  # highest plausible compression ratio; object numbers compress by a factor of three to ten


def too_large(size: int, packed: int) -> str | None:
    """Return a message if ``packed`` bytes that decompress to ``size`` bytes are implausible, otherwise None.

    Examples
    --------
    >>> too_large(10 * LARGE, 1000)
    'it decompresses to 10,737,418,240 bytes, more than 200 times its size, which is not plausible for answers'
    >>> too_large(LARGE, LARGE // 3)
    """
    if size <= LARGE or size <= PACKED * packed:
        return None
    return f"it decompresses to {size:,} bytes, more than {PACKED} times its size, which is not plausible for answers"
