"""Codes that only the holder of a study's key can issue: tickets of pilots, and withdrawal codes."""

import base64
import hmac
import secrets

__all__ = ["is_pilot_ticket", "pilot_ticket", "withdrawal_code"]


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


def _signature(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:16]
