"""Records of a thread's own part in, turns out (formats/codex.md §1.9 says which record is trusted).

The turns of any prefix of a log are a prefix of the turns of the whole log: nothing here waits for the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Literal

from memex_core.model.session import Role
from memex_hooks.harnesses.codex import calls, items, prompts
from memex_hooks.harnesses.codex.fields import Fields, listing, mapping, text, whole
from memex_hooks.harnesses.codex.identity import Identity
from memex_hooks.harnesses.codex.outbox import Entry, Outbox
from memex_hooks.harnesses.codex.tool_calls import SELF_ANSWERED, ToolCalls

Layer = Literal["told", "model"]
"""told: words as events or items tell them. model: the model's own messages, for logs that hold no others."""


class Conversation:
    """One pass over the own records; what is said and done goes to `outbox`."""

    def __init__(self, identity: Identity, layer: Layer) -> None:
        self.outbox = Outbox(identity.thread_id, silent=identity.kind == "internal")
        self.tools = ToolCalls(self.outbox)
        self.task = ""
        """What the parent asked of a subagent."""
        self.cwd = ""
        """Pre-envelope logs name it only inside the environment context."""
        self.heard = False
        """Something was said."""
        self.unheard = False
        """The model's layer held a prompt and an answer: something to fall back to when nothing is heard."""
        self._of_user = identity.kind == "user"
        self._told = layer == "told"
        self._bare = identity.pre_envelope
        self._paginated = text(identity.payload, "history_mode") == "paginated"
        self._turns_marked = False
        self._teller = ""
        self._model_said: set[str] = set()
        self._seen: set[int] = set()
        self._said: Counter[int] = Counter()
        self._events: dict[str, Callable[[Fields, str], None]] = {
            "user_message": self._user_event,
            "agent_message": self._agent_event,
            "item_completed": self._item,
            "patch_apply_end": self.tools.patch_end,
            "mcp_tool_call_end": self.tools.mcp_end,
            "web_search_end": self._self_answered,
            "image_generation_end": self._self_answered,
            "thread_rolled_back": self._rolled_back,
            **dict.fromkeys(("task_started", "turn_started"), self._turn_starts),
            **dict.fromkeys(("task_complete", "turn_complete", "turn_aborted"), self._turn_ends),
        }

    def feed(self, record: Fields) -> None:
        """Take one record of the thread's own part."""
        kind, payload, stamp = record.get("type"), record.get("payload"), text(record, "timestamp")
        if not isinstance(payload, dict):
            if self._bare and "payload" not in record:
                self._response_item(record, stamp)
        elif kind == "event_msg":
            handler = self._events.get(text(payload, "type"))
            if handler:
                handler(payload, stamp)
        elif kind == "response_item":
            self._response_item(payload, stamp)
        elif kind == "turn_context":
            self._turn_context(payload)

    def revert_to(self, turns: int) -> None:
        """A later file of the thread goes on behind turn `turns` of the earlier ones."""
        self.tools.give_up()
        self.outbox.retract_from(turns + 1)

    def _turn_starts(self, event: Fields, _stamp: str) -> None:
        self._turn_ends(event, _stamp)
        self._new_turn(text(event, "turn_id"))

    def _turn_ends(self, _event: Fields, _stamp: str) -> None:
        self._turns_marked = True
        self.unheard = self.unheard or len(self._model_said) > 1
        self.tools.give_up()

    def _turn_context(self, context: Fields) -> None:
        """Written again within a turn, and before turns had ids with every request."""
        turn_id = text(context, "turn_id")
        if turn_id and turn_id != self.outbox.turn_id:
            self._new_turn(turn_id)

    def _new_turn(self, turn_id: str) -> None:
        self.outbox.before_turn = self.outbox.appended
        self.tools.new_turn()
        self._teller = ""
        self._model_said.clear()
        self.outbox.turn_id = turn_id

    def _rolled_back(self, event: Fields, _stamp: str) -> None:
        self.tools.give_up()
        self.outbox.roll_back(whole(event, "num_turns") or 0)

    def _user_event(self, event: Fields, stamp: str) -> None:
        if self._hears("event"):
            self._user(prompts.event_prompt(event), stamp, "")

    def _agent_event(self, event: Fields, stamp: str) -> None:
        if self._hears("event"):
            self._say("agent", text(event, "message"), stamp, "")

    def _item(self, event: Fields, stamp: str) -> None:
        item = mapping(event, "item")
        kind = text(item, "type")
        if kind == "UserMessage":
            if self._hears("item"):
                self._user(prompts.item_prompt(item), stamp, text(item, "id"))
        elif kind == "AgentMessage":
            if self._hears("item"):
                self._say("agent", items.message_text(item), stamp, text(item, "id"))
        elif kind == "Plan":  # an item in legacy files, too
            if self._told:
                self._say("agent", items.message_text(item), stamp, text(item, "id"))
        elif kind in SELF_ANSWERED:
            self._self_answered(item, stamp)
        elif kind in items.TOOL_ITEMS:
            self.tools.item(item, stamp)

    def _hears(self, teller: str) -> bool:
        """A turn whose words are told twice, as events and as items, is heard once: by who speaks first."""
        self._teller = self._teller or teller
        return self._told and self._teller == teller

    def _response_item(self, payload: Fields, stamp: str) -> None:
        kind = text(payload, "type")
        if kind == "message":
            self._message(payload, stamp)
        elif kind == "agent_message":
            self.task = self.task or prompts.assignment(payload)
        elif kind in SELF_ANSWERED:
            self._self_answered(payload, stamp)
        elif kind.endswith("_call"):
            self.tools.call(payload, stamp)
        elif kind.endswith("_output"):
            self.tools.output(payload, stamp)

    def _self_answered(self, record: Fields, stamp: str) -> None:
        self.tools.search(record, stamp, SELF_ANSWERED[text(record, "type")])

    def _message(self, message: Fields, stamp: str) -> None:
        role, item_id = text(message, "role"), text(message, "id")
        if role == "user":
            self._harness_words(message, stamp)
        if self._told:
            self._overhear(message, role)
        elif role == "assistant":
            self._say("agent", items.message_text(message), stamp, item_id)
        elif role == "user":
            self._user(prompts.message_prompt(message), stamp, item_id)

    def _overhear(self, message: Fields, role: str) -> None:
        """Is there a conversation in the model's layer? Known when its turn ends: telling comes later."""
        if self.heard or self.unheard:
            return
        if role == "assistant" or (role == "user" and prompts.message_prompt(message)):
            self._model_said.add(role)
            self.unheard = not self._turns_marked and len(self._model_said) > 1

    def _harness_words(self, message: Fields, stamp: str) -> None:
        """What the harness tells the model in the user's name: the folder, and the user's own `!cmd`."""
        for part in listing(message, "content"):
            words = text(part, "text") if isinstance(part, dict) else ""
            if self._bare and not self.cwd:
                self.cwd = prompts.working_directory(words)
            ran = None if self._paginated else prompts.shell_command(words)  # there it is an item, too
            if ran:
                self.tools.tell(f"{stamp}|{words}", stamp, partial(calls.user_shell_text, *ran))

    def _user(self, words: str, stamp: str, item_id: str) -> None:
        if not words:
            return
        if not self._of_user:
            self.task = self.task or words
            return
        if not self._turns_marked:  # then the prompt is the mark
            self.tools.give_up()
            self.tools.new_turn()
            self.outbox.before_turn = self.outbox.appended
        self._say("user", words, stamp, item_id)

    def _say(self, role: Role, words: str, stamp: str, item_id: str) -> None:
        if not words.strip():
            return
        # Not by the item's id: `codex migrate-rollouts` makes them up, and keeps the turn's.
        key = f"{self.outbox.scope(stamp)}|{role}|{words}"
        mark, record = hash(key), hash((key, item_id))
        if item_id and record in self._seen:  # it was written twice
            return
        self._seen.add(record)
        self._said[mark] += 1
        self.heard = True
        self.outbox.append(Entry(role, stamp, f"{key}|{self._said[mark]}", lambda: words))
