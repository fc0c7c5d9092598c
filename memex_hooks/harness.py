"""The contract of a harness: a module (or package) under `harnesses/` that offers the members of `Harness`.

Every fact about a harness sits behind these members and nowhere else (DESIGN §2 rule 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from memex_core.model.session import Session
from memex_hooks.settings_file.receipts import Receipt

EventKind = Literal["started", "prompted", "paused", "ended"]
"""started: a session begins or goes on; prompted: the user sent a prompt; paused: a turn, subagent or
compaction ended; ended: the session ended.
"""


@dataclass(slots=True)
class HookEvent:
    """What a hook told us, in our words. Missing facts are "". `source` is startup, resume, clear, compact
    or fork.
    """

    kind: EventKind
    name: str
    session_id: str = ""
    log_path: str = ""
    cwd: str = ""
    source: str = ""
    prompt: str = ""
    config_dir: str = ""

    @property
    def resumes(self) -> bool:
        """True where somebody comes back to a session; after a compaction they were there all along."""
        return self.kind == "started" and self.source == "resume"


@dataclass(slots=True)
class LogFile:
    """A session log on disk that could be captured. `session_id` may be "" until it is read.

    `parts` are further files of the same session (subagent logs), for change detection.
    """

    path: Path
    session_id: str
    size: int
    mtime_ns: int
    ino: int
    parts: list[Path] = field(default_factory=list)


@dataclass(slots=True)
class HookEdit:
    """Result of planning an edit of a settings file: bytes before and after, and what a person should be
    told. `receipt`: what to keep for the way back, None where it follows from the bytes.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    notes: list[str] = field(default_factory=list)
    receipt: Receipt | None = None


@dataclass(slots=True)
class Finding:
    """One thing that `doctor` saw. `fix` is one command that mends it, or ""."""

    level: Literal["ok", "warn", "fail"]
    what: str
    fix: str = ""


class Harness(Protocol):
    """What `HARNESSES` holds. `env` is a mapping like os.environ: HOME, CLAUDE_CONFIG_DIR, CODEX_HOME ..."""

    NAME: str
    """The id: folder name under hooks/, key in HARNESSES, value of `--harness`."""
    TITLE: str
    """The name people use."""
    PROGRAM: str
    """The command that starts it."""
    READER_VERSION: int
    """Raised when a reading of the same log would differ; the sweep reads older sessions again."""

    def config_dir(self, env: Mapping[str, str]) -> Path:
        """Where the harness keeps settings and logs."""
        ...

    def with_config_dir(self, env: Mapping[str, str], config_dir: str) -> Mapping[str, str]:
        """`env` with the harness's configuration folder set to `config_dir`; `env` itself for ""."""
        ...

    def is_present(self, env: Mapping[str, str]) -> bool:
        """True when the harness seems to be used on this machine."""
        ...

    def find_logs(self, env: Mapping[str, str]) -> Iterable[LogFile]:
        """Every session log on disk, oldest session first where that is known without reading. Never
        raises.
        """
        ...

    def log_file(self, path: Path) -> LogFile | None:
        """The log that `path` belongs to (for a subagent file: its session's log), None if it is not
        there.
        """
        ...

    def read_session(self, log: LogFile) -> Session | None:
        """Log -> Session; None when the log holds no conversation. Raises OSError only."""
        ...

    def parse_event(self, name: str, payload: Mapping[str, Any]) -> HookEvent:
        """A hook's stdin -> HookEvent; whatever is missing or of a wrong type becomes ""."""
        ...

    def reply(self, event: HookEvent, text: str) -> bytes:
        """The exact standard output that puts `text` into the model's context; b"" for no text."""
        ...

    def plan_install(self, env: Mapping[str, str], command: str) -> list[HookEdit]:
        """The edits that wire the hooks. Raises Refused where the file cannot be edited safely."""
        ...

    def plan_uninstall(self, env: Mapping[str, str]) -> list[HookEdit]:
        """The edits that take our hooks out again."""
        ...

    def after_install(self) -> list[str]:
        """What a person still has to do or know once the hooks are in the settings; [] for nothing."""
        ...

    def check_hooks(self, env: Mapping[str, str]) -> list[Finding]:
        """Are our hooks there, once, and allowed to run? Retention risks of the harness belong here too."""
        ...

    def plan_mcp_install(
        self, env: Mapping[str, str], command: list[str], variables: Mapping[str, str]
    ) -> list[HookEdit]:
        """The edits that register `command`, started with `variables`, as an MCP server of the user. Raises
        Refused where that cannot be done safely, or where another server has our name.
        """
        ...

    def plan_mcp_uninstall(self, env: Mapping[str, str]) -> list[HookEdit]:
        """The edits that take our MCP server out again."""
        ...

    def check_mcp(self, env: Mapping[str, str]) -> list[Finding]:
        """Does our MCP server start, and serve this memory? [] where it is not registered: it is optional."""
        ...
