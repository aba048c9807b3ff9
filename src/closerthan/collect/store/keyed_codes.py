"""Codes that only the holder of a study's key can issue: tickets of pilots, and withdrawal codes."""

import base64
import hmac
import secrets
import unicodedata

__all__ = ["is_pilot_ticket", "is_withdrawal_code", "pilot_ticket", "withdrawal_code"]

_LOOK_ALIKE = str.maketrans("0158L26", "OISBIZG")


def pilot_ticket(key: bytes) -> str:
    """Return a new ticket for an address whose answers do not count.

    Examples
    --------
    >>> ticket = pilot_ticket(b"key")
    >>> is_pilot_ticket(b"key", ticket), is_pilot_ticket(b"another key", ticket), is_pilot_ticket(b"key", "yes")
    (True, False, False)
    """
    number = secrets.token_hex(4)
    return f"{number}-{_signature(key, f'pilot {number}')}"


def is_pilot_ticket(key: bytes, ticket: str) -> bool:
    """Return whether a ticket was issued with this key."""
    number, _, signature = ticket.partition("-")
    return hmac.compare_digest(signature.encode(), _signature(key, f"pilot {number}").encode())


def withdrawal_code(key: bytes, participant: int) -> str:
    """Return the code with which a participant can have the answers deleted; it is not part of any export.

    Examples
    --------
    >>> withdrawal_code(b"key", 1)
    '2LN3-SL55-OTFE'
    """
    code = base64.b32encode(hmac.digest(key, f"withdrawal {participant}".encode(), "sha256"))[:12].decode()
    return "-".join((code[:4], code[4:8], code[8:]))


def is_withdrawal_code(key: bytes, participant: int, text: str) -> bool:
    """Return whether a text is the withdrawal code of a participant, as people type it from a note.

    Upper and lower case, wide letters, spaces and dashes do not matter, and similar characters such as 0 and O count as
    the same.

    Examples
    --------
    >>> is_withdrawal_code(b"key", 1, "2ln3 sl55 0tfe"), is_withdrawal_code(b"key", 2, "2ln3 sl55 0tfe")
    (True, False)
    """
    return hmac.compare_digest(_folded(withdrawal_code(key, participant)), _folded(text))


def _folded(text: str) -> bytes:
    normal = unicodedata.normalize("NFKC", text).upper()
    return "".join(filter(str.isalnum, normal)).translate(_LOOK_ALIKE).encode()


def _signature(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:16]
