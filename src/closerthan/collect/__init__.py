"""Collecting answers: studies, the server that asks the questions, and its web pages."""
