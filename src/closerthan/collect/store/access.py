"""Secrets of a study, in files that only their owner can read: the researcher's token, and keys of hashes."""

import contextlib
import hmac
import secrets
from pathlib import Path

from closerthan.operating_system import open_private

__all__ = ["Access"]

_SHORTEST = 16  # characters of a secret
_TOKEN, _KEY = "researcher-token.txt", "pseudonym-key.txt"


class Access:
    """The secrets of the study in a folder; each is made when it is first needed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     access = Access(folder)
    ...     access.allows(access.token), access.allows("guess"), access.token == Access(folder).token
    (True, False, True)
    """

    FILES = (_TOKEN, _KEY)

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @property
    def token(self) -> str:
        """What the researcher shows to see his pages."""
        return self._secret(_TOKEN)

    @property
    def key(self) -> bytes:
        """The key of all hashes: without it, nobody can try out which id a pseudonym belongs to."""
        return self._secret(_KEY).encode()

    def allows(self, token: str) -> bool:
        """Whether this is the researcher's token; how long that takes says nothing about it."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    def pseudonym(self, participant: int, person: str | None) -> str:
        """What a participant is called in tables: the same for the same person, and nobody knows whom it means."""
        whom = f"participant {participant}" if person is None else f"person {person}"
        return hmac.new(self.key, whom.encode(), "sha256").hexdigest()[:12]

    def _secret(self, name: str) -> str:
        path = self._folder / name
        with contextlib.suppress(FileExistsError), open(path, "x", opener=open_private) as file:
            file.write(secrets.token_urlsafe(24) + "\n")
        secret = path.read_text(encoding="ascii", errors="replace").strip()
        if len(secret) < _SHORTEST:  # left by a full disk, say: an empty token would let everybody in
            raise ValueError(f"{path} holds no secret; put it back from a copy, or delete it and a new one is made")
        return secret
