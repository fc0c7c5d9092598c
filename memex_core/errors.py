"""Every expected failure, with the fields a door needs to say what, where and what to do.

MemexError                 expected; a command line prints it in one line and exits 1
  WikiStoreError           a page could not be read or written
    BadPage                a page whose front matter cannot be read (path, reason)
      NoPage               what has the place of a page and is none
  NotFound                 nothing under that name
  AlreadyExists            something under that name is there already
  Refused                  we decline to do harm (why, hint)
    InvalidName            a name that cannot become a file name
      OtherCase            a session id that differs from another one in letter case only
  LockTimeout              another process holds the memory root
  ConfigError              memex.toml says something that cannot act
  LLMError                 a model did not answer, or not in a way that can be used
WrongValue                 an argument that a caller gave does not fit; a ValueError, as seed 000 says
BrokenLinkWarning          a link whose page does not exist; never fatal (seed 000 §9.1)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memex_core.model.results import ConsolidationReport


class MemexError(Exception):
    """Base of every failure that a user can cause or mend."""

    hint: str = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class WikiStoreError(MemexError):
    """A page could not be read or written (seed 000 §7, Utility 1)."""


class BadPage(WikiStoreError):
    """A page whose front matter cannot be read; its text stays searchable."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}", hint="the page stays searchable as text; correct its front matter"
        )
        self.path = path
        self.reason = reason


class NoPage(BadPage):
    """What has the place of a page and is none: a link that leads outside, a pipe, a folder."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.hint = "move it away"


class NotFound(MemexError, FileNotFoundError):
    """Nothing under that name (also a FileNotFoundError: seed 000 §9.4)."""

    def __init__(self, what: str, name: str, *, hint: str = "") -> None:
        MemexError.__init__(self, f"no {what} named {name!r}", hint=hint)
        self.what = what
        self.name = name

    def __str__(self) -> str:
        return f"no {self.what} named {self.name!r}"


class Refused(MemexError):
    """We decline to act because acting could do harm."""


class InvalidName(Refused, ValueError):
    """A name from outside that cannot become a file name (also a ValueError: seed 000 §9.5)."""


class OtherCase(InvalidName):
    """A session id that differs from that of another session in letter case only: on many disks the files of
    the two would be the same.
    """

    def __init__(self, session_id: str, other: str) -> None:
        super().__init__(
            f"session id {session_id[:80]!r} differs from {other[:80]!r}, which is here, in letter case only",
            hint="give it another id",
        )


class AlreadyExists(MemexError, FileExistsError):
    """Something under that name is there already (also a FileExistsError: seed 000 §9.5)."""

    def __init__(self, what: str, name: str, *, hint: str = "") -> None:
        MemexError.__init__(self, f"{what} {name!r} exists already", hint=hint)

    def __str__(self) -> str:
        return str(self.args[0])


class LockTimeout(MemexError):
    """Another process held the memory root's lock for longer than we wait."""


class ConfigError(MemexError):
    """memex.toml holds something that cannot act; the message names key and file."""


class LLMError(MemexError):
    """A model was not asked, did not answer, or answered in no usable way (seed 000 §9.3).

    `report` is what was done until then, a `ConsolidationReport` without created nodes, or None.
    """

    report: ConsolidationReport | None = None


class WrongValue(ValueError):
    """What a caller gave does not fit (the ValueErrors of seed 000 §9): a door calls it a wrong argument."""


class BrokenLinkWarning(UserWarning):
    """A link whose target page does not exist."""
