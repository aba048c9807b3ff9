"""Speed, measured side by side with the peers: ``python -m benchmarks`` writes docs/benchmarks.md."""
