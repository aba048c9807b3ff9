"""``closerthan effects``: what influences answers besides the map."""

import sys
from typing import TYPE_CHECKING

import typer

from closerthan.cli.options import (
    AnswersFile,
    AnswersReader,
    Fitting,
    OutputFolder,
    fitting_options,
    reading,
    with_options,
)

if TYPE_CHECKING:
    from closerthan.people.effects import AnswerEffects

EFFECTS = {
    "people.csv": "one line per person: preferences for positions, repetition, ties and lapses, with their intervals",
    "terms.csv": "the gain of each of these terms, in bits per held-out answer",
    "models.csv": "accuracy of the map and of the terms on held-out answers",
    "map.csv": "the map that was estimated jointly with the terms",
    "map.png": "the same as a figure",
}
"""The files of closerthan effects."""


@with_options(output=OutputFolder, fitting=fitting_options(), reading=reading)
def effects(
    file: AnswersFile,
    *,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Find out what influences answers besides the map: positions on the screen, repetition, ties and lapses.

    They are estimated jointly with the map, for each person. Held-out answers show what each of them explains.
    """
    import closerthan as ct
    from closerthan.cli.output import save_figures, written_folder
    from closerthan.cli.screen import end_with_folder, print_columns, print_sentences, print_summary
    from closerthan.files import write_map
    from closerthan.plotting import map_figure
    from closerthan.saving import whole_csv

    fitting.refuse_file()
    folder = output.path(file, "effects", EFFECTS)
    keeps_ties = reading.arguments.get("ties") != "drop"
    answers = (reading.with_arguments(ties="keep") if keeps_ties else reading).read(file)
    print_summary(answers.summary)
    estimates = ct.answer_effects(
        answers.comparisons,
        ties=answers.ties,
        settings=fitting.settings,
        **fitting.run_options(sys.stderr.isatty()),
    )
    evidence, result = estimates.evidence, estimates.result
    with written_folder(folder, replace=output.force) as draft:
        estimates.to_csv(draft / "people.csv")
        estimates.terms_to_csv(draft / "terms.csv")
        whole_csv(draft / "models.csv", evidence.csv_titles, evidence.csv_rows())
        write_map(result.embedding, result.names, draft / "map.csv")
        title = "The map, without the effects of positions, repetition, ties and lapses"
        save_figures(draft, {"map.png": map_figure(result.embedding, result.names, title=title)}, output.figure_format)
    if estimates.terms:
        _print_people(estimates)
        typer.echo("")
    print_columns(("model", "held-out answers right", "bits"), evidence.rows())
    typer.echo("")
    print_sentences(estimates.sentences)
    end_with_folder(folder, EFFECTS, "")


def _print_people(estimates: "AnswerEffects") -> None:
    """Print the estimates for each person, and their meaning."""
    from closerthan.cli.screen import print_first, print_wrapped

    print_first(estimates.titles, estimates.rows(), "more lines", gap=2)
    for effect in estimates.effects:
        print_wrapped(f"{effect.name}: {effect.meaning}", indent=0)
