"""The page on architecture shows the layers that the import contract checks, and describes every module."""

import tomllib

from paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_layers_are_those_of_the_import_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    assert [line.replace(", ", " | ") for line in PAGE.split("```text\n")[2].split("\n```")[0].splitlines()] == layers[
        1:
    ]


def test_every_package_and_module_is_described() -> None:
    modules = [path for path in (ROOT / "src" / "closerthan").iterdir() if not path.name.startswith("_")]
    names = [path.name if path.suffix else f"{path.name}/" for path in modules if path.suffix in ("", ".py")]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
