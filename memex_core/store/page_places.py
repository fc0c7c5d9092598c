"""Where a page is, or would be: from slugs and titles to files under docs/ (DESIGN §3 row slug, §4 Files).

Names are looked up in the listing of their folder, as a case-insensitive file system would compare them; so
a slug can never lead outside of it. A folder is listed again only when its modification time says that it
changed. What has the name of a page and is none (`files.walk` says which) is never read or written through:
to readers it is not there, to writers its name is taken.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path

from memex_core import paths
from memex_core.errors import NoPage, OtherCase, WrongValue
from memex_core.files.regular import is_regular
from memex_core.files.walk import PAGE_SUFFIX, is_inside
from memex_core.model.node import WikiNode
from memex_core.text.slug import SlugAlgo, fold, numbered, slugify, title_key

_PLAIN_SLUG = re.compile(r"[^\W_](?:[\w.-]{0,126}[\w-])?\Z")
_GAPS = 3  # free numbers passed over in the search for a page of the same title

_SPACE = uuid.UUID("5b3a2f1c-8f0e-4c5d-9a57-6d656d657821")

Reader = Callable[[Path], WikiNode]


def id_of_title(node_type: str, title: str) -> str:
    """A page id that follows from type and title: a slug made of it is found again by the title."""
    return str(uuid.uuid5(_SPACE, f"{node_type}/{title_key(title)}"))


def folder_of(node_type: str) -> str:
    """The folder of a page type. Raises ValueError for what is none."""
    if node_type not in paths.FOLDER_OF_TYPE:
        raise WrongValue(f"{node_type!r} is not a page type; use one of {', '.join(paths.NODE_TYPES)}")
    return paths.FOLDER_OF_TYPE[node_type]


class PagePlaces:
    """The places of the pages of one memory root; `read` gives the page in a file."""

    def __init__(self, root: Path, slug_algo: SlugAlgo, read: Reader) -> None:
        self.root = root
        self.slug_algo = slug_algo
        self._docs = paths.docs_dir(root)
        self._read = read
        self._listed: dict[str, tuple[int, dict[str, str]]] = {}

    def existing(self, slug: str, node_type: str | None) -> Path | None:
        """The file of the page `slug` or `<type>/<slug>`, in any letter case; None where there is none.

        Without a type, the types are tried in the order of `paths.NODE_TYPES`, then folders of no type.
        """
        prefix, _, name = slug.rpartition("/")
        if prefix and node_type is None:
            node_type = paths.TYPE_OF_FOLDER.get(prefix, prefix)
            if node_type not in paths.NODE_TYPES:
                return None
        folders = [folder_of(node_type)] if node_type else [*paths.TYPE_OF_FOLDER, *self._foreign_folders()]
        for folder in folders:
            stem = self._actual(folder, name)
            if stem is not None and self.is_page(path := self._docs / folder / f"{stem}{PAGE_SUFFIX}"):
                return path
        return None

    def of_title(self, node_type: str, title: str) -> Path:
        """The page of this type and title; else the first of the names `slug`, `slug-2`, `slug-3`, ... that
        no page has.
        """
        base = slugify(title, algo=self.slug_algo, fallback=id_of_title(node_type, title))
        folder, wanted = folder_of(node_type), title_key(title)
        free = ""
        number, gaps = 1, 0
        while gaps <= _GAPS:
            stem = self._actual(folder, numbered(base, number))
            path = self._docs / folder / f"{stem}{PAGE_SUFFIX}"
            if stem is None:
                free = free or numbered(base, number)
                gaps += 1
            elif not self.is_page(path):
                free = free or stem
            elif title_key(self._read(path).title) == wanted:
                return path
            number += 1
        return paths.page_path(self.root, node_type, free)

    def of_node(self, node: WikiNode) -> Path:
        """Where `node` is or goes: its slug decides if it has one, else its title.

        A slug that a page with another id holds is numbered. A page in a folder of no type stays there.
        """
        if not node.slug:
            return self.of_title(node.type, node.title)
        home = node.file_path
        if home is not None and self._is_foreign(home) and home.stem == node.slug and home.exists():
            return home
        stem = self._actual(folder_of(node.type), node.slug)
        if stem is None:
            safe_slug(node.slug)
        elif node.type == "episode" and stem != node.slug:
            self._refuse_other_session(node, paths.page_path(self.root, node.type, stem))
        return self.of_slug(node.type, node.slug, node.id)

    def of_slug(self, node_type: str, slug: str, page_id: str) -> Path:
        """The page `slug` of this type, or where it would be; numbered where another page is there."""
        folder, number = folder_of(node_type), 1
        while True:
            stem = self._actual(folder, numbered(slug, number))
            if stem is None:
                return paths.page_path(self.root, node_type, numbered(slug, number))
            path = self._docs / folder / f"{stem}{PAGE_SUFFIX}"
            if not page_id or not self.is_page(path) or self._read(path).id == page_id:
                return path
            number += 1

    def _refuse_other_session(self, node: WikiNode, path: Path) -> None:
        page = self._read(path) if self.is_page(path) else None
        if page is None or not (page.session_id or node.session_id):
            return
        if (page.session_id or page.slug) != (node.session_id or node.slug):
            raise OtherCase(node.session_id or node.slug, page.session_id or page.slug)

    def gate(self, path: Path) -> None:
        """Raise NoPage unless a page is at `path`, or may come there."""
        if not is_inside(path.parent, self.root):
            raise NoPage(path.parent, "is a link that leads outside the memory root")
        if not self._holds_pages(path.parent):
            raise NoPage(path.parent, "is a link, and holds no pages")
        if os.path.lexists(path) and not is_regular(path, self.root):
            raise NoPage(path, "is no page: not a regular file, or a link that leads outside the memory root")

    def is_page(self, path: Path) -> bool:
        """True where a page is at `path` now."""
        return self._holds_pages(path.parent) and is_regular(path, self.root)

    def _holds_pages(self, folder: Path) -> bool:
        return folder == self._docs or not folder.is_symlink()

    def added(self, path: Path) -> None:
        """A page was written there: its folder need not be listed again for that."""
        listed = self._listed.get(path.parent.name)
        if listed is not None:
            listed[1][fold(path.stem)] = path.stem
            self._listed[path.parent.name] = (path.parent.stat().st_mtime_ns, listed[1])

    def _actual(self, folder: str, stem: str) -> str | None:
        stems = self._stems(folder)
        if stem in stems:  # the exact name wins where two pages differ in letter case only
            return stems[stem]
        return stems.get(fold(stem))

    def _stems(self, folder: str) -> dict[str, str]:
        """Actual stem by folded stem, and by itself where the two differ."""
        directory = self._docs / folder
        try:
            changed = directory.stat().st_mtime_ns
            listed = self._listed.get(folder)
            if listed is not None and listed[0] == changed:
                return listed[1]
            names = sorted((entry.name for entry in directory.iterdir()), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        pages = [
            name.removesuffix(PAGE_SUFFIX) for name in names if name.endswith(PAGE_SUFFIX) and name[0] != "."
        ]
        stems = {fold(stem): stem for stem in pages} | {stem: stem for stem in pages}
        self._listed[folder] = (changed, stems)
        return stems

    def _foreign_folders(self) -> list[str]:
        """Folders under docs/ that are of no page type, docs/ itself first."""
        try:
            inner = [
                entry.name for entry in self._docs.iterdir() if entry.is_dir() and not entry.is_symlink()
            ]
        except FileNotFoundError:
            return []
        return ["", *sorted(name for name in inner if name not in paths.TYPE_OF_FOLDER and name[0] != ".")]

    def _is_foreign(self, path: Path) -> bool:
        if path.parent == self._docs:
            return True
        return path.parent.parent == self._docs and path.parent.name not in paths.TYPE_OF_FOLDER


def safe_slug(slug: str) -> str:
    """`slug` if a new file may be called so: words of any script, inner dots and dashes, no device name.

    Raises ValueError (Refused, for a session id that may not be a file name).
    """
    if slug and slug == slugify(slug):
        return slug
    if not _PLAIN_SLUG.match(slug) or len(slug.encode("utf-8", "replace")) > 200:
        raise WrongValue(f"not a usable slug: {slug[:80]!r}")
    return paths.safe_id(slug) if slug.isascii() else slug
