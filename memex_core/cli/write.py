"""`memex write`."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memex_core.cli.arguments import FILE, TYPE, chosen_project, date_option, refusing_arguments
from memex_core.cli.editor import draft, editor_command
from memex_core.cli.input import STANDARD_STREAM, is_piped, read_text
from memex_core.cli.output import examples, is_terminal, open_memex, print_json, shown, warn, with_json
from memex_core.errors import BrokenLinkWarning
from memex_core.model.node import WikiNode, WriteInput
from memex_core.text.slug import slugify

if TYPE_CHECKING:
    from memex_core.memex import Memex


@click.command(
    epilog=examples(
        'memex write --type preference --title "Linter" --body "I prefer ruff." --tags python,style',
        'git log -5 | memex write --type summary --title "This week"',
        'memex write --type procedure --title "How we release"     (opens $EDITOR)',
    )
)
@click.option("--type", "node_type", type=TYPE, required=True, help="What kind of page it is.")
@click.option("--title", required=True, help="A page of that type and title is updated in place.")
@click.option("--body", default=None, metavar="TEXT", help="What it says, as Markdown.")
@click.option("--body-file", type=FILE, default=None, help="The same from a file, - for standard input.")
@click.option("--tags", default="", metavar="A,B", help="Tags, with commas between them.")
@click.option("--tag", "more_tags", multiple=True, metavar="TAG", help="One tag; repeat for more.")
@click.option("--importance", type=float, default=None, metavar="0..1", help="How much it matters (0.5).")
@click.option("--link", "links", multiple=True, metavar="SLUG", help="A page it links to; repeat for more.")
@click.option("--session-id", default=None, metavar="ID", help="The session of an episode.")
@click.option("--transcript-ref", default=None, metavar="PATH", help="Its transcript, from the memory root.")
@date_option("--expires-at", "From then on recall leaves it out.")
@date_option("--valid-from", "When it begins to hold.")
@date_option("--valid-to", "When it ceases to hold.")
@click.option("--project", type=click.Path(path_type=Path), metavar="DIR", help="It concerns that project.")
@with_json
def write(
    node_type: str,
    title: str,
    body: str | None,
    body_file: Path | None,
    tags: str,
    more_tags: tuple[str, ...],
    importance: float | None,
    links: tuple[str, ...],
    session_id: str | None,
    transcript_ref: str | None,
    expires_at: str | None,
    valid_from: str | None,
    valid_to: str | None,
    project: Path | None,
    as_json: bool,
) -> None:
    """Write a page, or update the one of that type and title.

    A page that is there keeps its tags, links and times where no option speaks of them.

    Its body comes from --body, --body-file, what is piped in, or else your editor.
    """
    memex = open_memex()
    belongs_to = chosen_project(project)
    item = WriteInput(
        node_type,
        title,
        "",
        tags=list(dict.fromkeys(tag.strip() for tag in (*tags.split(","), *more_tags) if tag.strip())),
        importance=importance,
        links=list(links),
        session_id=session_id,
        transcript_ref=transcript_ref,
        expires_at=expires_at,
        valid_from=valid_from,
        valid_to=valid_to,
        project=belongs_to.id or None,
        project_label=belongs_to.label or None,
    )
    _keep_what_is_not_given(memex, item)
    with _body(memex, item, body, body_file) as item.body:
        node, broken = _save(memex, item)
    _print(node, broken, as_json)


def _keep_what_is_not_given(memex: Memex, item: WriteInput) -> None:
    """A page that is there keeps its tags, links and times where no option speaks of them."""
    page = memex.store.find(item.type, item.title)
    if page is None:
        return
    item.links = item.links or page.given_links
    for name in _KEPT:
        if not getattr(item, name):
            setattr(item, name, getattr(page, name))


@contextlib.contextmanager
def _body(memex: Memex, item: WriteInput, body: str | None, body_file: Path | None) -> Iterator[str]:
    """The body that was given, or a draft that outlives a failure to save it."""
    if body is not None and body_file is not None:
        raise click.UsageError("--body or --body-file, not both")
    if body is not None:
        yield body
    elif body_file is not None or is_piped():
        text = read_text(body_file or STANDARD_STREAM)
        if not text.strip():
            raise click.UsageError(f"the body is empty: nothing is in {body_file or 'standard input'}")
        yield text
    elif is_terminal(sys.stdin) and editor_command():
        page = memex.store.find(item.type, item.title)
        with draft(slugify(item.title) or "page", page.body if page else "") as text:
            yield text
    else:
        raise click.UsageError("there is no body: --body, --body-file, a pipe, or $EDITOR on a terminal")


def _save(memex: Memex, item: WriteInput) -> tuple[WikiNode, list[str]]:
    """The page as written, and what is wrong with its links."""
    with warnings.catch_warnings(record=True) as caught, refusing_arguments():
        warnings.simplefilter("always", BrokenLinkWarning)
        node = memex.write(item)
    return node, [str(each.message) for each in caught if issubclass(each.category, BrokenLinkWarning)]


def _print(node: WikiNode, broken: list[str], as_json: bool) -> None:
    for message in broken:
        warn(message)
    if as_json:
        print_json({name: getattr(node, name) for name in _PRINTED})
    else:
        click.echo(f"{node.type} {node.slug}: {shown(str(node.file_path))}")


_KEPT = ("tags", "transcript_ref", "expires_at", "valid_from", "valid_to")
_PRINTED = (
    "slug",
    "file_path",
    "type",
    "title",
    "id",
    "tags",
    "importance",
    "created",
    "updated",
    "expires_at",
    "valid_from",
    "valid_to",
    "transcript_ref",
    "links",
    "content_hash",
    "project_label",
)
