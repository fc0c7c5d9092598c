"""docs/configuration.md, made from the settings: `python -m memex_core.config.reference`.

What is not about one key stands in reference.md.
"""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import Field
from pathlib import Path
from typing import Any

from memex_core.config.settings import MemexConfig, sections
from memex_core.config.values import wanted

_WIDTH = 100


def reference() -> str:
    """The whole page, as Markdown."""
    template = Path(__file__).with_name("reference.md").read_text("utf-8")
    return template.replace("{{sections}}", _tables()).replace("{{example}}", _example())


def main() -> None:
    sys.stdout.buffer.write(reference().encode("utf-8"))


def _tables() -> str:
    return "\n\n".join(_table(name, list(keys.values())) for name, keys in sections().items())


def _table(section: str, keys: list[Field[Any]]) -> str:
    head = ["| Key | Value | Default | What it does |", "|---|---|---|---|"]
    return "\n".join([f"### [{section}]", "", _about(section), "", *head, *map(_row, keys)])


def _row(key: Field[Any]) -> str:
    default = _default(key)
    nothing = "not set" if default is None else "empty" if default in ("", []) else ""
    variable = f" Environment: `{key.metadata['env']}`." if key.metadata.get("env") else ""
    cells = [f"`{key.name}`", _allowed(key), nothing or f"`{_toml(default)}`", key.metadata["doc"] + variable]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _allowed(key: Field[Any]) -> str:
    choices = key.metadata.get("choices")
    return ", ".join(f"`{choice}`" for choice in choices) if choices else wanted(key)


def _example() -> str:
    return "\n\n".join(_block(name, list(keys.values())) for name, keys in sections().items())


def _block(section: str, keys: list[Field[Any]]) -> str:
    return "\n".join(
        [*_comment(_about(section)), f"[{section}]", *(line for key in keys for line in _lines(key))]
    )


def _lines(key: Field[Any]) -> list[str]:
    default = _default(key)
    if default is None:
        value = f"# {key.name} = {_toml(key.metadata['example'])}"
    else:
        value = f"{key.name} = {_toml(default)}"
    return ["", *_comment(key.metadata["doc"]), value]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text.replace("`", ""), _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _about(section: str) -> str:
    """What the section's class says of itself."""
    return " ".join((getattr(MemexConfig(), section).__doc__ or "").split())


def _default(key: Field[Any]) -> object:
    return key.default_factory() if callable(key.default_factory) else key.default


def _toml(value: object) -> str:
    return str(value) if isinstance(value, float) else json.dumps(value)


if __name__ == "__main__":
    main()
