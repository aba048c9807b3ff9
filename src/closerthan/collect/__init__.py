"""Asking people: a study in a folder, the server that collects its answers, and its pages."""
