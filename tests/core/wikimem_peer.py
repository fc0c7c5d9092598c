"""For the tests of an exchange: a memory without an index, and a directory as wikimem edits it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memex_core.archive.wikimem_exchange import WikimemExchange, WikimemExportReport, WikimemImportReport
from memex_core.model.item import RecallItem
from memex_core.model.node import WikiNode
from memex_core.store.journal import Journal
from memex_core.store.recallfiles import RecallFileStore
from memex_core.store.wiki_store import WikiStore, Written
from memex_core.text.blocks import Provenance, item_name, parse, read_body, render_file

NOW = "2026-09-15T10:00:00Z"


class Memory:
    """A memory root with what Memex gives to WikimemExchange."""

    def __init__(self, root: Path, *, redacting: bool = False) -> None:
        self.root = root
        self.store = WikiStore(root)
        self.journal = Journal(root)
        self.exchange = WikimemExchange(self.store, self._put, self.journal, lambda: NOW, redacting=redacting)

    def _put(self, node: WikiNode) -> Written:
        written = self.store.put(node, now=NOW)
        if written.change:
            place = written.node.file_path
            assert place is not None
            page = f"{place.parent.name}/{place.stem}"
            self.journal.page_changed(written.change, page, written.node.title, NOW)
        return written

    def take(self, folder: Path, on_conflict: str = "skip") -> WikimemImportReport:
        return self.exchange.import_from(folder, on_conflict)

    def give(self, folder: Path) -> WikimemExportReport:
        return self.exchange.export_to(folder)

    def page(self, name: str, text: str | bytes) -> Path:
        """A hand-made file under docs/."""
        return put(self.root, f"docs/{name}", text)

    def write(self, title: str, body: str, kind: str = "entity", **fields: object) -> WikiNode:
        return self.store.put(WikiNode(kind, title, body, **fields), now=NOW).node  # type: ignore[arg-type]

    def pages(self) -> dict[str, bytes]:
        """The pages, by their paths below docs/."""
        return {name: data for name, data in files(self.root / "docs").items() if not name.startswith(".")}

    def read(self, slug: str) -> WikiNode:
        page = self.store.read(slug)
        assert page is not None, slug
        return page


class Peer:
    """A directory that is written as wikimem writes: the whole file anew, what is no item lost."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def items(self, file: str) -> list[RecallItem]:
        return RecallFileStore(self.path).items(file)

    def item(self, file: str, name: str) -> RecallItem | None:
        return RecallFileStore(self.path).get(file, name)

    def add(self, file: str, name: str, content: str, **said: str) -> None:
        rest = [block for block in self._blocks(file) if block[0] != name]
        self._rewrite(file, [*rest, (name, content, Provenance(**said))])

    def remove(self, file: str, name: str) -> None:
        self._rewrite(file, [block for block in self._blocks(file) if block[0] != name])

    def _blocks(self, file: str) -> Iterator[tuple[str, str, Provenance]]:
        path = self.path / "wiki" / f"{file}.md"
        text = path.read_text("utf-8") if path.exists() else ""
        latest = {item_name(section.heading): section for section in parse(text)}
        return ((name, *read_body(text, section)) for name, section in latest.items())

    def _rewrite(self, file: str, blocks: list[tuple[str, str, Provenance]]) -> None:
        if blocks:
            put(self.path, f"wiki/{file}.md", render_file(file, blocks))
        else:
            (self.path / "wiki" / f"{file}.md").unlink()


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def wikimem_files(folder: Path) -> dict[str, bytes]:
    """What wikimem looks at in its directory."""
    kept = files(folder).items()
    return {name: data for name, data in kept if name.split("/")[0] in ("wiki", "diary", "journal.jsonl")}
