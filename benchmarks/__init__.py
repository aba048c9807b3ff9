"""Benchmarks of speed, compared with other libraries: ``python -m benchmarks`` writes docs/benchmarks.md."""
