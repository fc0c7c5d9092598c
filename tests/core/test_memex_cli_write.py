"""`memex write` and `memex edit` (issue 3 item 2; seed 000 §4.2, §9.1): where the body comes from, what is
printed, and that no word is lost.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from memex_program import memex_cli, memex_program, on_a_terminal

from memex_core.memex import Memex
from memex_core.model.node import WriteInput

PAGE = ("--type", "preference", "--title", "User preference: ruff")


def editor(folder: Path, code: str) -> dict[str, str]:
    """An $EDITOR that runs `code` with `path`, the file it is to edit."""
    script = folder / "editor.py"
    script.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{code}\n", "utf-8")
    return {"EDITOR": f"{sys.executable} {script}", "VISUAL": ""}


def writes(folder: Path, text: str) -> dict[str, str]:
    return editor(folder, f"path.write_text({text!r}, 'utf-8')")


def body_of(root: Path, slug: str) -> str:
    page = Memex(root).read(slug)
    assert page is not None
    return page.body.strip()


def test_write_prints_slug_and_file_of_the_page(root: Path) -> None:
    told = memex_cli("write", *PAGE, "--body", "I prefer ruff.").json
    assert told["slug"] == "user-preference-ruff"
    assert told["file_path"] == str(root / "docs" / "preferences" / "user-preference-ruff.md")
    assert Path(told["file_path"]).is_file()


def test_write_as_text_is_one_line(root: Path) -> None:
    done = memex_cli("write", *PAGE, "--body", "I prefer ruff.", "--text")
    assert done.returncode == 0
    assert (
        done.stdout == f"preference user-preference-ruff: {root}/docs/preferences/user-preference-ruff.md\n"
    )


def test_every_option_of_write_reaches_the_page(root: Path, tmp_path: Path) -> None:
    memex_cli("write", "--type", "entity", "--title", "Zephyr", "--body", "The build server.")
    done = memex_cli(
        "write",
        *("--type", "episode", "--title", "A session", "--body", "What was said."),
        *("--tags", "tool, linter", "--tag", "python", "--tag", "tool"),
        *("--importance", "0.9", "--link", "zephyr", "--session-id", "s-1"),
        *("--transcript-ref", "transcripts/s-1.jsonl", "--expires-at", "2999-01-01"),
        *(
            "--valid-from",
            "2026-09-15T10:00:00Z",
            "--valid-to",
            "2998-01-01",
            "--project",
            str(tmp_path / "demo"),
        ),
    )
    assert (done.returncode, done.stderr) == (0, "")
    page = Memex(root).read("s-1", "episode")
    assert page is not None
    assert (page.tags, page.importance, page.links) == (["tool", "linter", "python"], 0.9, ["zephyr"])
    assert (page.transcript_ref, page.expires_at) == ("transcripts/s-1.jsonl", "2999-01-01")
    assert (page.valid_from, page.valid_to) == ("2026-09-15T10:00:00Z", "2998-01-01")
    assert (page.project, page.project_label) == (str(tmp_path / "demo"), "demo")


def test_writing_the_same_title_again_updates_the_page(root: Path) -> None:
    first = memex_cli("write", *PAGE, "--body", "I prefer ruff.").json
    second = memex_cli("write", *PAGE, "--body", "I prefer ruff over flake8.").json
    assert (first["slug"], first["id"]) == (second["slug"], second["id"])
    assert body_of(root, "user-preference-ruff") == "I prefer ruff over flake8."


def test_a_broken_link_is_told_on_standard_error_and_written(root: Path) -> None:
    done = memex_cli("write", *PAGE, "--body", "See [[nowhere]].", "--link", "nobody")
    assert done.json["links"] == ["nobody", "nowhere"]
    assert len(done.stderr.splitlines()) == 2
    assert all(line.startswith("warning: ") and "does not exist" in line for line in done.stderr.splitlines())


def test_the_body_may_come_from_a_file(root: Path, tmp_path: Path) -> None:
    (tmp_path / "body.md").write_bytes("\ufeffZwölf Boxkämpfer.\r\n".encode())
    assert memex_cli("write", *PAGE, "--body-file", str(tmp_path / "body.md")).returncode == 0
    assert body_of(root, "user-preference-ruff") == "Zwölf Boxkämpfer."


@pytest.mark.parametrize("arguments", [(), ("--body-file", "-")])
def test_the_body_may_be_piped_in(root: Path, arguments: tuple[str, ...]) -> None:
    done = memex_program("write", *PAGE, *arguments, stdin="I prefer ruff.\nAlways.\n")
    assert done.returncode == 0, done.stderr
    assert body_of(root, "user-preference-ruff") == "I prefer ruff.\nAlways."


def test_a_body_that_is_given_leaves_standard_input_alone(root: Path) -> None:
    assert memex_program("write", *PAGE, "--body", "this", stdin="not that").returncode == 0
    assert body_of(root, "user-preference-ruff") == "this"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--type", "nonsense", "--title", "x", "--body", "y"], "--type"),
        (["--title", "x", "--body", "y"], "--type"),
        (["--type", "entity", "--body", "y"], "--title"),
        (["--type", "entity", "--title", "  ", "--body", "y"], "title"),
        ([*PAGE, "--body", "y", "--importance", "2"], "importance"),
        ([*PAGE, "--body", "y", "--importance", "nan"], "importance"),
        ([*PAGE, "--body", "y", "--valid-to", "tuesday"], "tuesday"),
        ([*PAGE, "--body", "y", "--body-file", "z"], "not both"),
        ([*PAGE, "--body", "y" * 60_000], "max_body_chars"),
        (["--type", "episode", "--title", "x", "--body", "y"], "session"),
    ],
)
def test_wrong_values_get_one_line_and_exit_2(root: Path, arguments: list[str], said: str) -> None:
    done = memex_cli("write", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
    assert not (root / "docs").exists()


def test_an_empty_pipe_is_no_body(root: Path) -> None:
    done = memex_program("write", *PAGE, stdin=" \n")
    assert done.returncode == 2 and "empty" in done.stderr and not (root / "docs").exists()


def test_a_body_that_is_not_utf_8_is_refused_with_its_place(root: Path, tmp_path: Path) -> None:
    (tmp_path / "body.md").write_bytes(b"caf\xe9")
    done = memex_cli("write", *PAGE, "--body-file", str(tmp_path / "body.md"))
    assert done.returncode == 1 and "0xe9 at 3" in done.stderr and not (root / "docs").exists()


@pytest.mark.parametrize("name", ["missing.md", "."])
def test_a_body_file_that_is_none_gets_one_line(root: Path, tmp_path: Path, name: str) -> None:
    done = memex_cli("write", *PAGE, "--body-file", str(tmp_path / name))
    assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1


def test_at_a_terminal_the_editor_gives_the_body(root: Path, tmp_path: Path) -> None:
    done = on_a_terminal("write", *PAGE, env=writes(tmp_path, "I prefer ruff.\n"))
    assert done.returncode == 0, done.stdout
    assert body_of(root, "user-preference-ruff") == "I prefer ruff."


def test_visual_is_asked_before_editor(root: Path, tmp_path: Path) -> None:
    chosen = writes(tmp_path, "From $VISUAL.")["EDITOR"]
    done = on_a_terminal("write", *PAGE, env={"VISUAL": chosen, "EDITOR": "false"})
    assert done.returncode == 0 and body_of(root, "user-preference-ruff") == "From $VISUAL."


def test_the_editor_shows_what_the_page_says_now(root: Path, tmp_path: Path) -> None:
    Memex(root).write(WriteInput("preference", "User preference: ruff", "I prefer ruff."))
    adds = editor(
        tmp_path, "path.write_text(path.read_text('utf-8').replace('ruff', 'ruff, always'), 'utf-8')"
    )
    assert on_a_terminal("write", *PAGE, env=adds).returncode == 0
    assert body_of(root, "user-preference-ruff") == "I prefer ruff, always."


@pytest.mark.parametrize(
    "code", ["pass", "path.write_text('')", "path.write_text(' \\n\\n')", "path.unlink()"]
)
def test_an_empty_or_unchanged_buffer_writes_nothing(root: Path, tmp_path: Path, code: str) -> None:
    Memex(root).write(WriteInput("preference", "User preference: ruff", "I prefer ruff."))
    before = (root / "journal.jsonl").read_bytes()
    done = on_a_terminal("write", *PAGE, env={**editor(tmp_path, code), "TMPDIR": str(tmp_path)})
    assert (
        done.returncode == 1 and "nothing was written" in done.stdout and len(done.stdout.splitlines()) == 1
    )
    assert (root / "journal.jsonl").read_bytes() == before
    assert not list(tmp_path.glob("memex-*"))


def test_an_editor_that_fails_writes_nothing(root: Path, tmp_path: Path) -> None:
    done = on_a_terminal("write", *PAGE, env={"EDITOR": "false", "VISUAL": "", "TMPDIR": str(tmp_path)})
    assert done.returncode == 1 and "false ended with status 1" in done.stdout
    assert not (root / "docs").exists() and not list(tmp_path.glob("memex-*"))


def test_an_editor_that_does_not_exist_is_named(root: Path) -> None:
    done = on_a_terminal("write", *PAGE, env={"EDITOR": "no-such-editor -w", "VISUAL": ""})
    assert done.returncode == 1 and "no-such-editor cannot be started" in done.stdout


def test_words_that_cannot_be_saved_are_kept_in_a_file_that_is_named(root: Path, tmp_path: Path) -> None:
    env = {**writes(tmp_path, "Long thought of. " * 4_000), "TMPDIR": str(tmp_path)}
    done = on_a_terminal("write", *PAGE, env=env)
    assert done.returncode == 1 and "max_body_chars" in done.stdout and len(done.stdout.splitlines()) == 1
    kept = list(tmp_path.glob("memex-*/*.md"))
    assert len(kept) == 1 and str(kept[0]) in done.stdout
    assert kept[0].read_text("utf-8").count("Long thought of.") == 4_000


def test_words_of_an_editor_that_crashed_are_kept_too(root: Path, tmp_path: Path) -> None:
    crashes = editor(tmp_path, "path.write_text('Half a thought.')\nsys.exit(3)")
    done = on_a_terminal("write", *PAGE, env={**crashes, "TMPDIR": str(tmp_path)})
    kept = list(tmp_path.glob("memex-*/*.md"))
    assert done.returncode == 1 and "status 3" in done.stdout and str(kept[0]) in done.stdout


def test_without_a_terminal_and_a_body_there_is_nothing_to_write(root: Path) -> None:
    command = [sys.executable, "-m", "memex_core.cli", "write", *PAGE]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no body" in done.stderr


def test_the_editor_does_not_draw_into_what_is_piped(root: Path, tmp_path: Path) -> None:
    noisy = editor(tmp_path, "print('\\x1b[2J drawing')\npath.write_text('I prefer ruff.')")
    with (tmp_path / "out.json").open("wb") as piped:
        done = on_a_terminal("write", *PAGE, env=noisy, stdout=piped)
    assert done.returncode == 0 and "drawing" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["slug"] == "user-preference-ruff"


def test_edit_opens_the_real_file_and_the_change_is_found_and_noted(root: Path, tmp_path: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    env = editor(tmp_path, "path.write_text(path.read_text('utf-8').replace('build', 'quokka'), 'utf-8')")
    done = memex_program("edit", "zephyr", env=env)
    told = done.json
    assert (told["slug"], told["change"], told["warning"]) == ("zephyr", "update", "")
    assert [hit.slug for hit in Memex(root).recall("quokka").hits] == ["zephyr"]
    last = list(Memex(root).journal.lines())[-1]
    assert (last["action"], last["file"], last["item"]) == ("update", "entities/zephyr", "Zephyr")


def test_edit_without_a_change_notes_nothing(root: Path, tmp_path: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    before = (root / "journal.jsonl").read_bytes()
    done = memex_program("edit", "zephyr", "--text", env=editor(tmp_path, "path.touch()"))
    assert done.returncode == 0 and done.stdout.startswith("not changed: ")
    assert (root / "journal.jsonl").read_bytes() == before


def test_edit_tells_when_the_front_matter_no_longer_parses_or_a_link_is_broken(
    root: Path, tmp_path: Path
) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    breaks = editor(tmp_path, "path.write_text('---\\ntitle: [x\\n---\\nSee [[nowhere]].\\n', 'utf-8')")
    done = memex_program("edit", "zephyr", env=breaks)
    assert done.returncode == 0
    assert done.json["warning"] and done.json["warning"] in done.stderr
    assert "nowhere, which does not exist" in done.stderr


def test_edit_of_a_page_that_the_editor_deleted_notes_its_removal(root: Path, tmp_path: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    done = memex_program("edit", "zephyr", env=editor(tmp_path, "path.unlink()"))
    assert done.json["change"] == "remove"
    assert list(Memex(root).journal.lines())[-1]["action"] == "remove"
    assert Memex(root).recall("build").hits == []


def test_edit_follows_an_editor_that_saves_by_rename(root: Path, tmp_path: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    code = "new = path.with_suffix('.swp')\nnew.write_bytes(path.read_bytes() + b'quokka')\nnew.replace(path)"
    assert memex_program("edit", "zephyr", env=editor(tmp_path, code)).json["change"] == "update"
    assert Memex(root).recall("quokka").hits


def test_edit_of_nothing_or_without_an_editor_gets_one_line(root: Path) -> None:
    done = memex_program("edit", "nope", env={"EDITOR": "true"})
    assert done.returncode == 1 and "no page named 'nope'" in done.stderr
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    done = memex_program("edit", "zephyr", env={"EDITOR": "", "VISUAL": ""})
    assert done.returncode == 1 and "set $EDITOR" in done.stderr


def test_an_editor_with_an_open_quote_is_refused(root: Path) -> None:
    Memex(root).write(WriteInput("entity", "Zephyr", "Our build server."))
    done = memex_program("edit", "zephyr", env={"EDITOR": "'vi", "VISUAL": ""})
    assert done.returncode == 1 and "$EDITOR cannot be read" in done.stderr
