"""Tool calls and their results, each once, whatever tells of it (formats/codex.md §0 rule 5, §1.9).

A call of the model's layer waits for its item or output and holds back what is behind it, so that turns keep
the order of the calls. An item or event that brings call and result together needs no waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from memex_core.text.clean import clean_text
from memex_hooks.harnesses.codex import calls, items
from memex_hooks.harnesses.codex.fields import Fields, text
from memex_hooks.harnesses.codex.outbox import Entry, Outbox
from memex_hooks.harnesses.codex.outputs import ToolText


@dataclass(slots=True)
class _Script:
    """A code-mode `exec` call, and how many tools had been told of when it was made."""

    call: Fields
    stamp: str
    tools_before: int


@dataclass(slots=True)
class _Search:
    """Told by one layer so far; the other may tell of it again, with or without an id."""

    teller: str
    call_id: str
    about: str


class ToolCalls:
    """The tool calls of one pass."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._open: dict[str, tuple[Entry, Fields]] = {}
        self._scripts: dict[str, _Script] = {}
        self._made: set[int] = set()
        self._answered: set[int] = set()
        self._keys: Counter[int] = Counter()
        self._searches: list[_Search] = []
        self._told = 0

    def call(self, call: Fields, stamp: str) -> None:
        """A `*_call` record."""
        call_id = text(call, "call_id") or text(call, "id")
        if not call_id:
            return
        if text(call, "type") == "custom_tool_call" and text(call, "name") == "exec":
            self._scripts[call_id] = _Script(call, stamp, self._told)
            return
        mark = hash((self._outbox.turn_id, call_id, calls.call_name(call), calls.call_query(call)))
        if mark not in self._made:  # else the record was written twice
            self._made.add(mark)
            self._make(call_id, call, stamp)

    def output(self, payload: Fields, stamp: str) -> None:
        """A `*_output` record."""
        call_id = text(payload, "call_id")
        output = payload.get("output", payload.get("tools"))
        script = self._scripts.pop(call_id, None)
        if script:
            if (
                script.tools_before == self._told
            ):  # it called nothing that was told of: keep the script itself
                self.tell(call_id, stamp, partial(calls.call_text, script.call, output, True))
        elif not self._answer(call_id, lambda call: calls.call_text(call, output, True)) and call_id:
            # The record of the call is lost, unless an item or event has told of it already.
            self.tell(call_id, stamp, partial(calls.call_text, {}, output, True))

    def item(self, item: Fields, stamp: str) -> None:
        """A tool item of `item_completed`."""
        kind = text(item, "type")
        words_of = items.TOOL_ITEMS[kind]
        call_id = text(item, "id") or f"{stamp}|{kind}"
        if kind in items.KEEP_THE_CALL and call_id in self._open:
            return
        if not self._answer(call_id, lambda _call: words_of(item)):
            self.tell(call_id, stamp, partial(words_of, item))

    def patch_end(self, event: Fields, stamp: str) -> None:
        call_id = text(event, "call_id")
        if not self._answer(call_id, partial(calls.patch_text, event)):
            self.tell(call_id or f"{stamp}|patch", stamp, partial(calls.patch_text, event, None))

    def mcp_end(self, event: Fields, stamp: str) -> None:
        call_id = text(event, "call_id")
        if not self._answer(call_id, lambda _call: calls.mcp_end_text(event)):
            self.tell(call_id or f"{stamp}|mcp", stamp, partial(calls.mcp_end_text, event))

    def search(self, record: Fields, stamp: str, words_of: Callable[[Fields], ToolText]) -> None:
        """A web search or image generation: it answers itself, and both layers tell of it."""
        words = words_of(record)
        teller, call_id = text(record, "type"), text(record, "call_id") or text(record, "id")
        about = f"{words.name}|{words.query if words.name == 'web_search' else ''}"
        for place, other in enumerate(self._searches):
            same = call_id == other.call_id if call_id and other.call_id else about == other.about
            if other.teller != teller and same:
                del self._searches[place]
                return
        self._searches.append(_Search(teller, call_id, about))
        self.tell(call_id or f"{stamp}|{about}", stamp, lambda: words)

    def tell(self, call_id: str, stamp: str, words: Callable[[], ToolText]) -> None:
        """A call whose result is known, unless its id has had one."""
        mark = hash(call_id)
        if mark not in self._answered:
            self._answered.add(mark)
            self._told += 1
            self._outbox.append(Entry("tool", stamp, self._key(call_id), words))

    def give_up(self) -> None:
        """The calls that are open now will never be answered."""
        for call_id, (entry, _) in self._open.items():
            entry.ready = True
            self._answered.add(hash(call_id))
        self._open.clear()
        for call_id, script in self._silent_scripts():
            self.tell(call_id, script.stamp, partial(calls.call_text, script.call, None, False))
        self._scripts.clear()

    def new_turn(self) -> None:
        """Both layers tell of a search within one turn."""
        self._searches.clear()

    def still_open(self) -> list[dict[str, str]]:
        """The calls without a result so far, in call order."""
        waiting = [call for _, call in self._open.values()]
        waiting += [script.call for _, script in self._silent_scripts()]
        said = [calls.call_text(call, None, False) for call in waiting]
        return [{"tool_name": clean_text(call.name), "query": clean_text(call.query)} for call in said]

    def _make(self, call_id: str, call: Fields, stamp: str) -> None:
        """Some providers use the same ids again: what is open under this one is another call."""
        if call_id in self._open:
            self._open.pop(call_id)[0].ready = True
        unanswered = partial(calls.call_text, call, None, False)
        entry = Entry("tool", stamp, self._key(call_id), unanswered, ready=False)
        self._outbox.append(entry)
        self._open[call_id] = entry, call

    def _key(self, call_id: str) -> str:
        """The key of the next entry for `call_id`, numbered where its turn has used the id before.

        Without a time: records of the call and of its item have different ones.
        """
        key = f"{self._outbox.scope()}|{call_id}"
        self._keys[hash(key)] += 1
        times = self._keys[hash(key)]
        return key if times == 1 else f"{key}|{times}"

    def _answer(self, call_id: str, words_of: Callable[[Fields], ToolText]) -> bool:
        """Give an open call its result; False when there is no such call."""
        entry, call = self._open.pop(call_id, (None, {}))
        if entry is None:
            return False
        entry.words = partial(words_of, call)
        entry.ready = True
        self._answered.add(hash(call_id))
        self._told += 1
        return True

    def _silent_scripts(self) -> list[tuple[str, _Script]]:
        """The open scripts that have called nothing that was told of."""
        return [(key, script) for key, script in self._scripts.items() if script.tools_before == self._told]


def search_call(call: Fields) -> ToolText:
    """A `web_search_call` record: what the search brought back is not in the log."""
    return ToolText("web_search", calls.search_query(call), None)


SELF_ANSWERED: dict[str, Callable[[Fields], ToolText]] = {
    "web_search_call": search_call,
    "web_search_end": items.search_item,
    "WebSearch": items.search_item,
    "image_generation_call": items.image_item,
    "image_generation_end": items.image_item,
    "ImageGeneration": items.image_item,
}
"""The records that tell of a search or a generated image, for `ToolCalls.search`."""
