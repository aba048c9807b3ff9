"""The secrets of a study, in files that only their owner can read: researchers' tokens and the key of hashes.

The first token is stored as it is, because the server prints it. Those of further researchers are stored as hashes;
they are too random to be found by trial and error.
"""

import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from closerthan.files.formats.study import KEY, pseudonym
from closerthan.operating_system import make_private, open_private
from closerthan.saving import whole_file

__all__ = ["Access"]

_SHORTEST = 16  # minimum length of a secret, in characters
_TOKEN, _RESEARCHERS = "researcher-token.txt", "researchers.txt"
_NAME, _HASH = re.compile(r"[\w.-]{1,40}"), re.compile(r"[0-9a-f]{64}")


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

    FILES = (_TOKEN, KEY)

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @property
    def token(self) -> str:
        """The token that gives access to the researcher's page."""
        return self._secret(_TOKEN)

    @property
    def key(self) -> bytes:
        """The key of all hashes; without it, pseudonyms cannot be matched with ids by trial and error."""
        return self._secret(KEY).encode()

    def allows(self, token: str) -> bool:
        """Return whether a token belongs to a researcher; each comparison takes constant time.

        The files are read each time, so that a token can be revoked while a server is running.
        """
        presented = hashlib.sha256(token.encode()).hexdigest()
        hashes = [hashlib.sha256(self.token.encode()).hexdigest(), *self._hashes().values()]
        return sum(hmac.compare_digest(presented, one) for one in hashes) > 0  # unlike any(), leaves out no comparison

    def add_researcher(self, name: str) -> str:
        """Return a new token for another researcher, of which only the hash is stored.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     access = Access(folder)
        ...     token = access.add_researcher("ann")
        ...     allowed = access.allows(token), access.researchers
        ...     access.remove_researcher("ann")
        ...     allowed, access.allows(token)
        ((True, ['ann']), False)
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"the name {name!r} must consist of at most 40 letters, digits, dots, - and _")
        hashes = self._hashes()
        if name in hashes:
            raise ValueError(f"{name} already has a token; remove it first, since only its hash is known")
        token = secrets.token_urlsafe(24)
        self._write({**hashes, name: hashlib.sha256(token.encode()).hexdigest()})
        return token

    def remove_researcher(self, name: str) -> None:
        """Revoke a researcher's token."""
        hashes = self._hashes()
        if name not in hashes:
            others = f"those who have one are {', '.join(hashes)}" if hashes else "nobody else has one"
            raise ValueError(f"{name} has no token; {others}")
        del hashes[name]
        self._write(hashes)

    @property
    def researchers(self) -> list[str]:
        """The names of the researchers who have a token of their own."""
        return list(self._hashes())

    def _hashes(self) -> dict[str, str]:
        path = self._folder / _RESEARCHERS
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        pairs = [line.partition(" ") for line in lines]
        if not all(_NAME.fullmatch(name) and _HASH.fullmatch(digest) for name, _, digest in pairs):
            raise ValueError(f"{path} is damaged; restore it from a copy, or delete it and add the researchers again")
        return {name: digest for name, _, digest in pairs}

    def _write(self, hashes: Mapping[str, str]) -> None:
        with whole_file(self._folder / _RESEARCHERS) as file:
            file.write("".join(f"{name} {digest}\n" for name, digest in hashes.items()).encode())
            make_private(file.name)

    def pseudonym(self, participant: int, person: str | None) -> str:
        """Return the anonymous name of a participant in tables, which is the same for the same person."""
        return pseudonym(self.key, participant, person)

    def _secret(self, name: str) -> str:
        path = self._folder / name
        with contextlib.suppress(FileExistsError), open(path, "x", opener=open_private) as file:
            file.write(secrets.token_urlsafe(24) + "\n")
        secret = path.read_text(encoding="ascii", errors="replace").strip()
        if len(secret) < _SHORTEST:  # for example if the disk was full; an empty token would give access to everyone
            raise ValueError(f"{path} contains no secret; restore it from a copy, or delete it to create a new one")
        return secret
