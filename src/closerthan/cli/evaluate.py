"""``closerthan evaluate``: how well a map agrees with answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import reading, with_options


@with_options(reading=reading)
def evaluate(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    *,
    reading: dict[str, Any],
) -> None:
    """Say how many of the answers in FILE a map gets wrong."""
    import closerthan as ct
    from closerthan.cli.matching import read_about
    from closerthan.cli.table import percent, print_facts, print_summary
    from closerthan.cli.target import map_file
    from closerthan.evaluate.disagreement import least_error
    from closerthan.evaluate.facts import Fact
    from closerthan.files import read_map

    embedding, names = read_map(map_file(map))
    answers = read_about(file, len(embedding), names, reading)
    print_summary(answers.summary)
    n_objects, n_dims = embedding.shape
    facts = [Fact("Map", f"{n_objects:,} objects in {n_dims} dimension{'s' * (n_dims != 1)}")]
    parts = {"Error": answers.comparisons}
    if answers.test is not None:
        parts = {"Error, training": answers.comparisons, "Error, test": answers.test}
    for name, part in parts.items():
        error = ct.triplet_error(part, embedding)
        low, high = ct.error_interval(error, part)
        value = f"{percent(error)} (95 % interval {percent(low)} to {percent(high)})"
        facts.append(Fact(name, value, f"of {len(part):,} comparisons"))
        least = least_error(part)
        if least > 0:
            facts.append(Fact("Least possible", percent(least), "of these answers contradict others: no map is better"))
    facts.append(Fact("Chance level", percent(0.5)))
    print_facts(facts)
