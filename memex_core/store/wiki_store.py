"""The pages of a memory root as files (seed 000 §7, Utility 1): docs/<folder of the type>/<slug>.md.

Every change happens under the memory lock, on the page as it is at that moment, and is whole or not at all.
A page whose front matter cannot be read is listed with a warning and never rewritten.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memex_core import paths
from memex_core.errors import BadPage, MemexError, NotFound, WikiStoreError, WrongValue
from memex_core.files.atomic import remove_file, write_atomic
from memex_core.files.lock import memory_lock
from memex_core.files.regular import NotRegular, open_regular, read_regular
from memex_core.files.walk import walk_pages
from memex_core.model.node import WikiNode
from memex_core.model.page import (
    body_hash,
    changed_page,
    decode,
    edited_by_hand,
    is_crlf,
    new_page,
    read_page,
    set_links,
)
from memex_core.store.page_places import PagePlaces, folder_of, id_of_title, safe_slug
from memex_core.text.clean import clean_text
from memex_core.text.frontmatter import FrontMatterError
from memex_core.text.instant import to_iso
from memex_core.text.slug import SlugAlgo, slugify

_KEPT = ("id", "created", "access_count", "last_access")
_NOT_COMPARED = {*_KEPT, "updated", "content_hash", "file_path", "extra", "warning", "note", "slug"}
_COMPARED = [name for name in WikiNode.__slots__ if name not in _NOT_COMPARED]
_MISSING = object()

Pages = list[WikiNode]


def current_time() -> str:
    """The time of a write, ISO 8601 UTC."""
    return to_iso(time.time())


@dataclass(frozen=True, slots=True)
class Written:
    """What `put` did: the page as it is now, and "add", "update" or "" where it already said the same."""

    node: WikiNode
    change: Literal["add", "update", ""]


class WikiStore:
    """Reads and writes the pages under `data_dir`, the memory root. Safe to use from several threads.

    `changes` grows with every change, so that whoever keeps an index of the pages knows that it is behind.
    """

    def __init__(self, data_dir: Path, slug_algo: str = "kebab") -> None:
        self.root = data_dir
        self.slug_algo: SlugAlgo = "sha1" if slug_algo == "sha1" else "kebab"
        self.changes = 0
        self._read = functools.partial(_read, root=data_dir)
        self._places = PagePlaces(data_dir, self.slug_algo, self._read)

    def read(self, slug: str, node_type: str | None = None) -> WikiNode | None:
        """The page under `slug` (also `<type>/<slug>`, and in any letter case), or None.

        A slug that several types use means the first of them in the order of `paths.NODE_TYPES`.
        """
        path = self._places.existing(slug, node_type)
        try:
            return None if path is None else self._read(path)
        except (FileNotFoundError, NotRegular):
            return None
        except OSError as error:
            raise _cannot("read", error, self.root) from error

    def episode(self, session_id: str) -> WikiNode | None:
        """The page of this session, or None: that of an id in another letter case is another session's."""
        page = self.read(session_id, "episode")
        return page if page is not None and session_id in (page.slug, page.session_id) else None

    def find(self, node_type: str, title: str) -> WikiNode | None:
        """The page of that type and title (case, Unicode form and spacing aside), or None."""
        try:
            path = self._places.of_title(node_type, clean_text(title))
            return self._read(path) if self._places.is_page(path) else None
        except (FileNotFoundError, NotRegular):
            return None
        except OSError as error:
            raise _cannot("read", error, self.root) from error

    def write(self, node: WikiNode) -> WikiNode:
        """`put` without the question what changed (seed 000 §7)."""
        return self.put(node).node

    def put(self, node: WikiNode, *, now: str | None = None) -> Written:
        """Write a page; `node` itself becomes the page as it is afterwards.

        The page is the one under `node.slug` if that is given, else the one of the same type and title, else
        a new one. An existing page keeps id, created and its access counts; one that already says the same
        is not touched. Raises ValueError for a wrong type, title or slug; BadPage for a page that cannot be
        read; WikiStoreError where the file cannot be written, or has changed since `node` was read;
        LockTimeout.
        """
        folder_of(node.type)
        node.title = " ".join(clean_text(node.title).splitlines()).strip()
        if not node.title:
            raise WrongValue("a page needs a title")
        node.body = clean_text(node.body)
        with self._changing("write"):
            path = self._places.of_node(node)
            self._places.gate(path)
            if path.exists():
                return self._update(node, path, now or current_time())
            return self._add(node, path, now or current_time())

    def amend(self, slug: str, node_type: str | None = None, **fields: Any) -> WikiNode:
        """Set single fields of a page, access counts and keys of `extra` among them, and nothing else.

        For what is no edit of the text: forgetting, decay. `updated` changes only if it is given. Raises
        NotFound, BadPage, WikiStoreError.
        """
        with self._changing("write"):
            path = self._found(slug, node_type)
            text, old, new = self._open(path)
            for name, value in fields.items():
                setattr(new, name, new.extra | value if name == "extra" else value)
            new.content_hash = body_hash(new.body)
            new.id = new.id or str(uuid.uuid4())
            changed = _changed(path, text, old, new)
            if changed != text:
                write_atomic(path, changed.encode("utf-8"))
            return self._read(path)

    def list(self, node_type: str | None = None) -> Pages:
        """All pages, or those in the folder of one type, sorted by path."""
        return list(self._scan("docs/" if node_type is None else f"docs/{folder_of(node_type)}/"))

    def scan_all(self) -> Pages:
        """Every page under docs/, hand-made and foreign ones with a `warning`; sorted by path."""
        return list(self._scan("docs/"))

    def delete(self, slug: str, node_type: str | None = None) -> None:
        """Delete a page. Raises NotFound, WikiStoreError."""
        with self._changing("delete"):
            remove_file(self._found(slug, node_type))

    def move(self, slug: str, new_type: str, node_type: str | None = None) -> WikiNode:
        """Make a page one of another type; it keeps its id, and its slug if that is free there.

        Raises NotFound.
        """
        folder_of(new_type)
        with self._changing("move"):
            path = self._found(slug, node_type)
            text, old, new = self._open(path)
            if old.type == new_type and not old.warning:
                return old
            new.type, new.id = new_type, new.id or str(uuid.uuid4())
            target = self._places.of_slug(new_type, path.stem, new.id)
            self._places.gate(target)
            write_atomic(target, _changed(path, text, old, new).encode("utf-8"))
            remove_file(path)
            return self._read(target)

    def exists(self, slug: str, node_type: str | None = None) -> bool:
        return self._places.existing(slug, node_type) is not None

    def get_path(self, slug: str, node_type: str | None = None) -> Path:
        """Where the page is; with `node_type` also where a page that does not exist yet would be.

        Raises NotFound without `node_type`, ValueError for a slug that is no file name, WikiStoreError where
        no page may be.
        """
        path = self._places.existing(slug, node_type)
        if path is not None:
            return path
        if node_type is None:
            raise NotFound("page", slug)
        path = self._places.of_slug(node_type, safe_slug(slug), "")
        self._places.gate(path)
        return path

    def get_slug_from_path(self, path: Path) -> str:
        return path.stem

    def is_edited(self, node: WikiNode) -> bool:
        """True where a person wrote or changed the body of the page at any time, or where that
        cannot be told.
        """
        if node.file_path is None:
            return False
        text, problem = decode(read_regular(node.file_path, self.root))
        return bool(problem) or edited_by_hand(text)

    def _to_slug(self, title: str) -> str:
        return slugify(title, algo=self.slug_algo)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Inside, no other process changes a page. Raises WikiStoreError, LockTimeout."""
        with self._changing("write"):
            yield

    @contextlib.contextmanager
    def _changing(self, what: str) -> Iterator[None]:
        try:
            with memory_lock(self.root):
                self.changes += 1
                yield
        except MemexError:
            raise
        except OSError as error:
            raise _cannot(what, error, self.root) from error

    def _found(self, slug: str, node_type: str | None) -> Path:
        path = self._places.existing(slug, node_type)
        if path is None:
            raise NotFound("page", slug)
        self._places.gate(path)
        return path

    def _scan(self, prefix: str) -> Iterator[WikiNode]:
        try:
            found = sorted(path for path, _ in walk_pages(self.root) if path.startswith(prefix))
        except OSError as error:
            raise _cannot("list", error, self.root) from error
        for relative in found:
            path = self.root / relative
            try:
                yield self._read(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                yield _unread(path, f"cannot be read: {error.strerror}")

    def _add(self, node: WikiNode, path: Path, moment: str) -> Written:
        named = node.slug or self._to_slug(node.title)
        node.id = node.id or (str(uuid.uuid4()) if named else id_of_title(node.type, node.title))
        node.created = node.created or moment
        node.updated = node.updated or moment
        _complete(node, path)
        write_atomic(path, new_page(node).encode("utf-8"))
        self._places.added(path)
        return Written(node, "add")

    def _update(self, node: WikiNode, path: Path, moment: str) -> Written:
        text, old, _ = self._open(path)
        if node.content_hash not in ("", old.content_hash) and node.body != old.body:
            raise WikiStoreError(
                f"{path} has changed since it was read", hint="read the page again and repeat"
            )
        for name in _KEPT:
            setattr(node, name, getattr(old, name))
        node.body = _kept_body(text, old.body, node.body)
        _complete(node, path)
        if _same(old, node):
            _become(node, old)
            return Written(node, "")
        node.id = node.id or str(uuid.uuid4())
        node.updated = moment
        write_atomic(path, _changed(path, text, old, node).encode("utf-8"))
        _become(node, self._read(path))
        return Written(node, "update")

    def _open(self, path: Path) -> tuple[str, WikiNode, WikiNode]:
        """The text of a page that is to be changed, and two copies of what it says. Raises BadPage."""
        with open_regular(path, self.root) as file:
            data, modified = file.read(), os.fstat(file.fileno()).st_mtime
        text, problem = decode(data)
        if problem:
            raise BadPage(path, problem)
        old, new = (read_page(data, path, modified=modified) for _ in range(2))
        old.file_path = new.file_path = path
        return text, old, new


def _read(path: Path, root: Path) -> WikiNode:
    with open_regular(path, root) as file:
        data, modified = file.read(), os.fstat(file.fileno()).st_mtime
    node = read_page(data, path, modified=modified)
    node.file_path = path
    return node


def _changed(path: Path, text: str, old: WikiNode, new: WikiNode) -> str:
    try:
        return changed_page(text, old, new)
    except FrontMatterError as error:
        raise BadPage(path, str(error)) from None


def _complete(node: WikiNode, path: Path) -> None:
    """Set what follows from the rest: slug, path, links, hash."""
    node.slug, node.file_path = path.stem, path
    set_links(node)
    node.content_hash = body_hash(node.body)
    node.warning = ""


def _same(old: WikiNode, new: WikiNode) -> bool:
    if any(old.extra.get(key, _MISSING) != value for key, value in new.extra.items()):
        return False
    return all(getattr(old, name) == getattr(new, name) for name in _COMPARED)


def _become(node: WikiNode, page: WikiNode) -> None:
    for name in WikiNode.__slots__:
        setattr(node, name, getattr(page, name))


def _kept_body(text: str, old: str, new: str) -> str:
    """`new` with the page's line ends; the old body where only those, or empty lines at the end, differ."""
    if is_crlf(text):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old if new.rstrip("\r\n") == old.rstrip("\r\n") else new


def _unread(path: Path, problem: str) -> WikiNode:
    node_type: Any = paths.TYPE_OF_FOLDER.get(path.parent.name, "entity")
    return WikiNode(type=node_type, title=path.stem, body="", slug=path.stem, file_path=path, warning=problem)


def _cannot(what: str, error: OSError, path: Path) -> WikiStoreError:
    place = error.filename or path
    return WikiStoreError(
        f"cannot {what} {place}: {error.strerror or error}", hint="check space and permissions"
    )
