"""Parameters of slow tests."""

import pytest


def slow_but(quick, choices):
    """All choices; the test is slow but for one of them."""
    return [choice if choice == quick else pytest.param(choice, marks=pytest.mark.slow) for choice in choices]
