"""Evaluation of maps and answers: accuracy, cross-validation, diagnostics and advice."""
