"""Every command line in the documentation parses: the command is there, and so is each option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memex_core.cli.commands import memex
from memex_hooks.cli.commands import memex_hooks
from memex_hooks.harness import Harness

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GROUPS: dict[str, click.Group] = {"memex": memex, "memex-hooks": memex_hooks}
_LINE = re.compile(r"(?:^|[|`(&]|\$ )\s*(memex(?:-hooks)? [a-z][^`\n|]*)", re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for text in _LINE.findall(page.read_text("utf-8")):
            if "```" not in text:
                yield page.name, text.strip()


@pytest.mark.parametrize(("page", "text"), sorted(set(commands())))
def test_a_command_line_parses(page: str, text: str) -> None:
    words = shlex.split(text.split("#")[0].split(" > ")[0].split(";")[0].rstrip(".,:)"), posix=True)
    group = GROUPS[words[0]]
    context = click.Context(group, info_name=words[0])
    command: click.Command = group
    rest = words[1:]
    while isinstance(command, click.Group) and rest and command.get_command(context, rest[0]):
        found = command.get_command(context, rest.pop(0))
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    assert command is not group, f"{page}: no command {words[1]!r}"
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "-h"}
    for word in rest:
        if word.startswith("--"):
            assert word.split("=")[0] in options, f"{page}: {text}"


def test_the_documentation_shows_every_command() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name, group in GROUPS.items():
        context = click.Context(group)
        for command in group.list_commands(context):
            found = group.get_command(context, command)
            if found is not None and not found.hidden:
                assert f"{name} {command}" in text, command


def test_every_member_of_the_harness_contract_is_explained() -> None:
    text = (ROOT / "docs" / "adding-a-harness.md").read_text("utf-8")
    members = {name for name in (*vars(Harness), *Harness.__annotations__) if not name.startswith("_")}
    assert {name for name in members if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("code", _PYTHON.findall((ROOT / "docs" / "use.md").read_text("utf-8")))
@pytest.mark.filterwarnings("ignore::memex_core.errors.BrokenLinkWarning")
def test_the_python_example_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/use.md", "exec"), {})
    assert "Ruff linter" in capsys.readouterr().out


def test_every_diagram_is_one_of_four_and_names_what_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    diagrams = re.findall(r"^```mermaid\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(diagrams) == 4 and all(diagram.startswith("flowchart TB\n") for diagram in diagrams)
    for diagram in diagrams:
        assert diagram.count("subgraph ") == len(re.findall(r"^\s*end$", diagram, re.MULTILINE))
        named = set(re.findall(r"^\s*class ([\w,]+) \w+$", diagram, re.MULTILINE))
        for name in {name for names in named for name in names.split(",")}:
            assert re.search(rf"^\s*(?:subgraph )?{name}[(\[]", diagram, re.MULTILINE), name
    for name in (
        "WikiStore",
        "IndexManager",
        "BM25Retriever",
        "LinkManager",
        "NodeExtractor",
        "RecencyDecay",
    ):
        assert name in text
