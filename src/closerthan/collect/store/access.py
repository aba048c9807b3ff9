"""The secrets of a study, in files that only their owner can read: the researcher's token and the key of hashes."""

import contextlib
import hmac
import secrets
from pathlib import Path

from closerthan.operating_system import open_private

__all__ = ["Access"]

_SHORTEST = 16  # minimum length of a secret, in characters
_TOKEN, _KEY = "researcher-token.txt", "pseudonym-key.txt"


class Access:
    """The secrets of the study in a folder; each is created on first use.

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
        """The token that gives access to the researcher's page."""
        return self._secret(_TOKEN)

    @property
    def key(self) -> bytes:
        """The key of all hashes; without it, pseudonyms cannot be matched with ids by trial and error."""
        return self._secret(_KEY).encode()

    def allows(self, token: str) -> bool:
        """Return whether a token is the researcher's; the comparison takes constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    def pseudonym(self, participant: int, person: str | None) -> str:
        """Return the anonymous name of a participant in tables, which is the same for the same person."""
        identity = f"participant {participant}" if person is None else f"person {person}"
        return hmac.new(self.key, identity.encode(), "sha256").hexdigest()[:12]

    def _secret(self, name: str) -> str:
        path = self._folder / name
        with contextlib.suppress(FileExistsError), open(path, "x", opener=open_private) as file:
            file.write(secrets.token_urlsafe(24) + "\n")
        secret = path.read_text(encoding="ascii", errors="replace").strip()
        if len(secret) < _SHORTEST:  # for example if the disk was full; an empty token would give access to everyone
            raise ValueError(f"{path} contains no secret; restore it from a copy, or delete it to create a new one")
        return secret
