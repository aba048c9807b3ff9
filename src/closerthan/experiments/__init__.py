"""The paper, run again: one file per table or figure, each a ``run(bench) -> Section``."""
