"""Parameters of slow tests."""

import pytest


def slow_but(quick, choices):
    """Return all choices as parameters; all but one of them are marked as slow."""
    return [choice if choice == quick else pytest.param(choice, marks=pytest.mark.slow) for choice in choices]
