import pytest

pytest.importorskip("starlette", reason="a server needs starlette")
from starlette.requests import Request

from closerthan.collect.web.server import caller


def request(client, forwarded=""):
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    return Request({"type": "http", "client": client and (client, 5000), "headers": headers})


@pytest.mark.parametrize("proxy", ["127.0.0.1", "::1", "::ffff:127.0.0.1", None])
def test_a_proxy_on_this_computer_reports_the_caller(proxy):
    assert caller(request(proxy, "spoofed, 203.0.113.5"), behind_proxy=False) == "203.0.113.5"


def test_a_proxy_in_the_private_network_is_believed_only_if_the_server_is_behind_one():
    # The proxy on the same computer, as a container sees it.
    assert caller(request("172.18.0.1", "203.0.113.5"), behind_proxy=True) == "203.0.113.5"
    assert caller(request("172.18.0.1", "203.0.113.5"), behind_proxy=False) == "172.18.0.1"
    assert caller(request("8.8.4.4", "203.0.113.5"), behind_proxy=True) == "8.8.4.4"


def test_a_computer_cannot_evade_limits_by_choosing_among_its_addresses():
    callers = {caller(request("2001:db8:0:1::1", ""), behind_proxy=False)}
    callers |= {caller(request("127.0.0.1", f"2001:db8:0:1::{number:x}"), behind_proxy=False) for number in range(9)}
    assert len(callers) == 1
