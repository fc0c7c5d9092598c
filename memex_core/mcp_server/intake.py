"""What a client sends with a call, as a tool may have it: here alone its texts are cleaned and, where they
are to be kept, freed of secrets (DESIGN §3 row redaction, §4 Files).

What some programs send as a text of JSON where a list belongs is a list from here on: an escape of JSON could
hide a secret, so nothing is decoded after this.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from memex_core.mcp_server import tools
from memex_core.mcp_server.parameters import Arguments
from memex_core.text.clean import clean_text
from memex_core.text.frontmatter import FrontMatterError, parse, split
from memex_core.text.redact import redact

_MAX_NAMED_CHARS = 2_000
"""No secret that only its name gives away is longer."""


def taken(offer: tools.ToolOffer, sent: dict[str, Any], *, without_secrets: bool) -> Arguments:
    """The arguments of a call. Raises pydantic's ValidationError for what does not fit."""
    lists = _lists_of(offer.arguments)
    decoded = {key: _list_in(value) if key in lists else value for key, value in sent.items()}
    kept = _without_secrets(decoded) if without_secrets else each_text(decoded, clean_text)
    return offer.arguments.model_validate(kept)


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with every text in it changed, the keys of its objects too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(each, change) for each in value]
    if isinstance(value, dict):
        return {change(str(key)): each_text(each, change) for key, each in value.items()}
    return value


def hides_secrets(front_matter: str) -> bool:
    """True where front matter, once it is read, says something that may not be kept: YAML has escapes too."""
    try:
        values = parse(split(front_matter)[0] or "")
    except FrontMatterError:
        return False
    return bool(_without_secrets(values) != each_text(values, clean_text))


@functools.cache
def _lists_of(arguments: type[Arguments]) -> frozenset[str]:
    """The parameters that take a list."""
    parameters = tools.plain_schema(arguments.model_json_schema(), given=True)["properties"]
    return frozenset(name for name, schema in parameters.items() if schema.get("type") == "array")


def _list_in(value: Any) -> Any:
    """The list in a text of JSON, else `value`."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _without_secrets(value: Any, name: str = "") -> Any:
    """`value` cleaned, each text without secrets; `name` is the key under which it stands, which may be what
    says that it is one.
    """
    if isinstance(value, str):
        return _unnamed(name, redact(clean_text(value)))
    if isinstance(value, (list, tuple)):
        return [_without_secrets(each, name) for each in value]
    if isinstance(value, dict):
        return {
            redact(clean_text(str(key))): _without_secrets(each, clean_text(str(key)))
            for key, each in value.items()
        }
    return value


def _unnamed(name: str, text: str) -> str:
    """`text`, or what is left of it where `name` calls it a secret."""
    if not name or not 0 < len(text) <= _MAX_NAMED_CHARS:
        return text
    said = json.dumps({name: text}, ensure_ascii=False)
    safe = redact(said)
    if safe == said:
        return text
    try:
        return str(next(iter(json.loads(safe).values())))
    except ValueError:
        return "[REDACTED:secret]"
