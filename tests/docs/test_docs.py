"""The code in the README and the guide runs."""

import re
from pathlib import Path

import pytest
from paths import ROOT
from slow import slow_but

import closerthan as ct

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "development").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WRITTEN_BY_SPHINX = ("gallery/", "api")

# Columns for every way in which the pages read this one file.
ANSWERS = """\
anchor,near,far,weight,q,yes,no,first,second,third,clicked
lion,tiger,frog,1,lion,tiger,frog,lion,tiger,frog,frog
frog,newt,lion,1,frog,newt,lion,frog,newt,lion,lion
tiger,lion,newt,2,tiger,lion,newt,tiger,lion,newt,newt
newt,frog,tiger,1,newt,frog,tiger,newt,frog,tiger,tiger
"""


def name_of(path: Path) -> str:
    return path.stem


def code_in(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_no_page_is_longer_than_1500_words() -> None:
    words = {page.name: len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))) for page in PAGES}
    del words["defaults.md"]  # written by benchmarks.defaults
    assert {name: number for name, number in words.items() if number > 1500} == {}


@pytest.mark.parametrize("page", slow_but(ROOT / "README.md", [page for page in PAGES if code_in(page)]), ids=name_of)
def test_the_python_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS, encoding="utf-8")
    variables: dict[str, object] = {"ct": ct, "__name__": "page"}
    for number, code in enumerate(code_in(page)):
        exec(compile(code, f"{page.name}, block {number}", "exec"), variables)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith(("http", *WRITTEN_BY_SPHINX)):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
        elif target.startswith("gallery/plot_"):
            assert (ROOT / "examples" / f"{Path(target).stem}.py").exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_includes_exist(page: Path) -> None:
    for file in re.findall(r"^```\{(?:include|literalinclude)\} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert (page.parent / file).exists(), f"{page.name} includes {file}"


def test_every_page_is_in_the_menu() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    menu = set(re.findall(r"^[\w/*-]+$", index, flags=re.MULTILINE))
    written = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if DOCS in page.parents]
    missing = set(written) - menu - {"index"}
    assert not missing, f"add {missing} to a toctree in docs/index.md"


def test_measured_pages_say_how_when_and_where() -> None:
    measured = [page for page in (DOCS / "measured").glob("*.md") if not page.stem.endswith("-rule")]
    assert measured
    for page in measured:
        assert re.search(
            r"^\*Made by `python -m benchmarks\.(\w+)[^`]*` .* \d{4}\.\*$", page.read_text("utf-8"), re.MULTILINE
        )


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_examples_begin_with_a_title_and_are_valid(example: Path) -> None:
    code = example.read_text(encoding="utf-8")
    compile(code, example.name, "exec")
    title, line = re.match(r'"""\n(.+)\n(=+)\n', code).groups()  # type: ignore[union-attr]
    assert len(title) == len(line)


def test_the_readme_has_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install . && closerthan demo" in readme
    assert 'pip install ".[test]" && pytest' in readme


def test_the_version_is_in_the_changelog() -> None:
    assert f"## {ct.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
