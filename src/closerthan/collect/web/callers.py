"""The computer that a request comes from, for limits per computer. Addresses are kept in memory only."""

import ipaddress

__all__ = ["computer", "is_proxy"]


def is_proxy(address: str, behind_proxy: bool = False) -> bool:
    """Return whether a connection comes from a proxy, whose clients must not share the limits of one computer.

    Proxies run on this computer. With ``behind_proxy`` they may also be elsewhere in the private network: from within a
    container, even those on the same computer seem to be.

    Examples
    --------
    >>> is_proxy("127.0.0.1"), is_proxy("172.18.0.1"), is_proxy("172.18.0.1", behind_proxy=True)
    (True, False, True)
    """
    ip = _parsed(address)
    return ip is None or ip.is_loopback or (behind_proxy and ip.is_private)  # None: a socket without an address


def computer(address: str) -> str:
    """Return the part of an address that a computer cannot change at will: of an IPv6 address, the first half.

    Examples
    --------
    >>> computer("192.0.2.7"), computer("::ffff:192.0.2.7"), computer("2001:db8:0:1:aaaa::7")
    ('192.0.2.7', '192.0.2.7', '2001:db8:0:1::/64')
    """
    ip = _parsed(address)
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(ip), 64), strict=False))
    return str(ip) if ip else address[:64]


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip
