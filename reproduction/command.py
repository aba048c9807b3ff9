"""``python -m reproduction``: reproduce the paper's tables and figures."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from closerthan import __version__
from closerthan.datasets import labelled_file, music
from reproduction import ALSO, EXPERIMENTS, Bench, Section, TrialLog, claims, experiment_named
from reproduction.page import markdown, page

OUT = Path("build/reproduction")
"""Default folder for results, outside version control."""


def reproduce(
    name: str,
    trials: int | None = None,
    quick: bool = False,
    out: str | Path = OUT,
    features: str | Path | None = None,
    progress: bool = False,
) -> list[Section]:
    """Run one experiment, or all of them, and write the results.

    Each experiment writes to ``out``/NAME: ``trials.csv`` (raw trials), ``trials.jsonl`` (the same with curves, from
    which an interrupted run resumes), ``NAME.md``, ``summary.json`` (the numbers of its claims) and its figures as PNG
    and SVG. "all" also writes ``out``.html (one self-contained page with everything) and ``out``.md (the claims and
    their verdicts) beside the folder, and one ``summary.json`` and ``claims.csv`` (the numbers behind each verdict)
    into it.

    Parameters
    ----------
    name
        A name from ``EXPERIMENTS``, or "all".
    trials
        The number of trials. None: the experiment's default.
    quick
        Run a small version that takes seconds.
    out
        The folder to write to.
    features
        For table2: a .npz or .mat file with ``features`` and ``labels``.
    progress
        Show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sections = reproduce("figure3", trials=1, quick=True, out=folder)
    ...     sorted(path.name for path in (Path(folder) / "figure3").iterdir())
    ['figure3.md', 'figure3.png', 'figure3.svg', 'summary.json', 'trials.csv', 'trials.jsonl']
    """
    if trials is not None and trials < 1:
        raise ValueError(f"trials is {trials}; at least 1 is needed")
    chosen = list(EXPERIMENTS.values()) if name == "all" else [experiment_named(name)]
    if features is not None and all(experiment.name != "table2" for experiment in chosen):
        raise ValueError(f"features are for table2, not for {name}; leave them out")
    folder = Path(out)
    features_path = None if features is None else Path(features)
    # Data that cannot be read should fail before hours of trials.
    if any(experiment.name == "figure4" for experiment in chosen):
        music()
    if features_path is not None:
        labelled_file(features_path)
    sections = []
    for experiment in chosen:
        bench = Bench(TrialLog(folder / experiment.name, progress), trials, quick, features_path)
        section = experiment.run(bench)
        (folder / experiment.name / f"{experiment.name}.md").write_text(markdown(section), encoding="utf-8")
        command = _command(experiment.name, trials, quick, folder, features_path)
        claims.write(folder / experiment.name, claims.part(section, bench.log.rows(), command))
        sections.append(section)
    if name == "all":
        _write_pages(folder, sections, _command("all", trials, quick, folder, features_path))
    return sections


def _command(name: str, trials: int | None, quick: bool, folder: Path, features: Path | None) -> str:
    words = ["python", "-m", "reproduction", name]
    words += ["--trials", str(trials)] if trials is not None else []
    words += ["--quick"] if quick else []
    words += ["--out", folder.as_posix()]
    words += ["--features", features.name] if features is not None and name in ("table2", "all") else []
    return shlex.join(words)


def _write_pages(folder: Path, sections: Sequence[Section], command: str) -> None:
    numbers = claims.collected(folder, {"experiments": []})
    first, last = (end(one["dates"][place] for one in numbers["experiments"]) for place, end in ((0, min), (1, max)))
    machines = sorted({machine for one in numbers["experiments"] for machine in one["machines"]})
    introduction = [
        "Fast Stochastic Ordinal Embedding with Variance Reduction and Adaptive Step Size (Ma, Zeng, Xiong, Xu, "
        "Cao, Liu, Yao): every table and figure, reproduced with this package and compared with the paper's numbers. "
        f"Written by `{command}` of closerthan {__version__}; no number on this page was entered by hand.",
        f"Trials run from {first} to {last} on: {'; '.join(machines)}. Seconds depend on the machine and "
        "its load; compare within a table.",
    ]
    html = page(claims.TITLE, introduction, sections, folder)
    folder.with_name(f"{folder.name}.html").write_text(html, encoding="utf-8")
    claims.write_page(folder.with_name(f"{folder.name}.md"), numbers)


def reproduce_command(
    name: Annotated[
        str | None, typer.Argument(help="The table or figure to run, or all; without a name, list them.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Number of trials; each experiment has its own default.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version that takes seconds.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and raw trials.")] = OUT,
    features: Annotated[Path | None, typer.Option(help="For table2: .npz or .mat with features and labels.")] = None,
) -> None:
    """Reproduce the paper's tables and figures. After an interruption, the same command resumes where it stopped."""
    if name is None:
        width = max(map(len, [*EXPERIMENTS, *ALSO]))
        for experiment in EXPERIMENTS.values():
            typer.echo(f"{experiment.name:<{width}}  {experiment.about}")
        for also, source in ALSO.items():
            typer.echo(f"{also:<{width}}  part of {source}")
        typer.echo(f"{'all':<{width}}  all of them, with one page for everything")
        return
    try:
        sections = reproduce(name, trials, quick, out, features, progress=True)
    except KeyboardInterrupt:
        typer.echo("interrupted; the finished trials are kept: run the same command again to resume", err=True)
        raise typer.Exit(130) from None
    except (ValueError, FileNotFoundError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    for section in sections:
        for claim in section.claims:
            typer.echo(f"{section.name}: {claim.says}: {claim.verdict}")
    results = out.with_name(f"{out.name}.html") if name == "all" else out / sections[0].name
    typer.echo(f"results written to {results}")
