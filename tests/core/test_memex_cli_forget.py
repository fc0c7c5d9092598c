"""`memex forget` and `memex decay` (seed 000 §9.4, Utility 8; issue 3 items 2 and 3)."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.model.results import ForgetResult


@pytest.fixture
def page(root: Path) -> Path:
    node = Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    assert node.file_path is not None
    return node.file_path


def test_forget_without_a_terminal_needs_yes(page: Path) -> None:
    done = memex_program("forget", "zephyr")
    assert (done.returncode, done.stdout) == (1, "") and "--yes" in done.stderr
    assert page.exists()


def test_forget_hard_deletes_and_gives_the_result_of_the_specification(page: Path) -> None:
    result = memex_cli("forget", "zephyr", "--yes").json
    assert list(result) == [field.name for field in fields(ForgetResult)]
    assert result == {"slug": "zephyr", "forgotten": True, "mode": "hard", "file_path": None}
    assert not page.exists()
    assert memex_cli("show", "zephyr").returncode == 1


@pytest.mark.parametrize(("answer", "status", "stays"), [("y", 0, False), ("n", 1, True), ("", 1, True)])
def test_forget_hard_asks_at_a_terminal(page: Path, answer: str, status: int, stays: bool) -> None:
    done = on_a_terminal("forget", "zephyr", typed=[answer])
    assert 'Delete the entity zephyr, "Zephyr", for good?' in done.stdout
    assert (done.returncode, page.exists()) == (status, stays)
    assert ("nothing was changed" in done.stdout) == stays


def test_the_question_does_not_go_into_what_is_piped(page: Path, tmp_path: Path) -> None:
    with (tmp_path / "out.json").open("wb") as piped:
        done = on_a_terminal("forget", "zephyr", typed=["y"], stdout=piped)
    assert done.returncode == 0 and "for good?" in done.stdout
    assert (tmp_path / "out.json").read_text().startswith("{")


@pytest.mark.parametrize(("mode", "key"), [("soft", "valid_to"), ("decay", "expires_at")])
def test_forget_soft_and_decay_do_not_ask_and_keep_the_file(page: Path, mode: str, key: str) -> None:
    result = memex_cli("forget", "zephyr", "--mode", mode, "--valid-to", "2026-09-20T00:00:00Z").json
    assert result == {"slug": "zephyr", "forgotten": True, "mode": mode, "file_path": str(page)}
    assert f'{key}: "2026-09-20T00:00:00Z"' in page.read_text("utf-8")
    assert memex_cli("recall", "build").json["hits"] == []
    assert memex_cli("recall", "build", "--include-expired").json["hits"]


def test_forget_as_text_says_what_became_of_the_page(page: Path) -> None:
    done = memex_cli("forget", "zephyr", "--mode", "soft", "--text")
    assert done.returncode == 0 and str(page) in done.stdout
    assert memex_cli("forget", "zephyr", "--yes", "--text").stdout == "deleted the entity zephyr\n"


def test_forget_takes_the_page_of_the_type_that_is_named(root: Path, page: Path) -> None:
    other = Memex(root).write(WriteInput("summary", "Zephyr", "Another."))
    assert memex_cli("forget", "zephyr", "--type", "summary", "--yes").returncode == 0
    assert page.exists() and other.file_path is not None and not other.file_path.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nope", "--yes"], 1, "no page named 'nope'"),
        (["zephyr", "--mode", "gently"], 2, "--mode"),
        (["zephyr", "--mode", "soft", "--valid-to", "soon"], 2, "'soon' is not a date"),
        (["zephyr", "--valid-to", "2026-09-20", "--yes"], 2, "--mode soft or decay"),
    ],
)
def test_forget_refuses_in_one_line(page: Path, arguments: list[str], status: int, said: str) -> None:
    done = memex_cli("forget", *arguments)
    assert (done.returncode, done.stdout) == (status, "") and said in done.stderr
    assert len(done.stderr.splitlines()) == 1 and page.exists()


@pytest.fixture
def old(root: Path) -> Path:
    node = Memex(root, now=lambda: "2020-01-01T00:00:00Z").write(
        WriteInput("entity", "Zephyr", "Our build server.", importance=0.8)
    )
    assert node.file_path is not None
    return node.file_path


def test_decay_in_a_dry_run_tells_and_changes_nothing(old: Path) -> None:
    before = old.read_bytes()
    changes = memex_cli("decay", "--dry-run").json
    assert [(change["slug"], change["old"]) for change in changes] == [("zephyr", 0.8)]
    assert 0 <= changes[0]["new"] < 0.8
    assert "WOULD BE" in memex_cli("decay", "--dry-run", "--text").stdout
    assert old.read_bytes() == before


def test_decay_lowers_what_nobody_recalls(root: Path, old: Path) -> None:
    promised = memex_cli("decay", "--dry-run").json[0]["new"]
    assert memex_cli("decay").json[0]["new"] == pytest.approx(promised, abs=1e-4)
    page = Memex(root).read("zephyr")
    assert page is not None and page.importance == pytest.approx(promised, abs=1e-4)


def test_decay_of_nothing_says_so(root: Path) -> None:
    assert memex_cli("decay").json == []
    assert memex_cli("decay", "--text").stdout == "nothing changes\n"


def test_decay_that_is_switched_off_says_so(root: Path, old: Path) -> None:
    (root / "memex.toml").write_text("[recency_decay]\nenabled = false\n", "utf-8")
    assert memex_cli("decay").json == []
    assert "switched off" in memex_cli("decay", "--text").stdout
