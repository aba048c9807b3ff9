"""Scales of one physical dimension, from judgements of intervals."""
