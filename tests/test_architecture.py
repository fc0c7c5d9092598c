"""The rules of the house (DESIGN §2) that a linter cannot see."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (ROOT / "memex_core", ROOT / "memex_hooks")
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
DOORKEEPERS = {
    "click": ("cli",),
    "mcp": ("mcp_server",),
    "anyio": ("mcp_server",),
    "pydantic": ("mcp_server",),
    "watchdog": ("watcher.py",),
    "yaml": ("text/frontmatter.py",),
    "sqlite3": ("index/",),
    "numpy": ("vectors/",),
}
UNWANTED_NAMES = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def test_a_module_is_at_most_400_lines_long() -> None:
    lines = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_a_function_is_at_most_60_lines_long() -> None:
    lines = {
        f"{name_of(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert {name: count for name, count in lines.items() if count > MAX_FUNCTION_LINES} == {}


def test_a_heavy_library_is_imported_by_its_doorkeeper_only() -> None:
    others = [
        f"{name_of(path)} imports {library}"
        for path in MODULES
        for library in sorted(DOORKEEPERS.keys() & imported(path))
        if not any(door in name_of(path) for door in DOORKEEPERS[library])
    ]
    assert others == []


def test_a_module_is_named_for_what_it_holds() -> None:
    assert [name_of(path) for path in MODULES if path.stem in UNWANTED_NAMES] == []


def test_a_module_begins_with_a_docstring() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_every_harness_has_a_module_a_hook_folder_and_a_line_in_the_list() -> None:
    from memex_hooks.harnesses import HARNESSES

    modules = {
        p.stem
        for p in (ROOT / "memex_hooks" / "harnesses").iterdir()
        if p.stem not in ("__init__", "__pycache__")
    }
    folders = {p.name for p in (ROOT / "hooks").iterdir() if p.is_dir() and not p.name.startswith(".")}
    assert {name.replace("-", "_") for name in HARNESSES} == modules
    assert set(HARNESSES) == folders
    assert all(name == harness.NAME for name, harness in HARNESSES.items())


def test_no_module_asks_which_harness_it_serves() -> None:
    names = ("claude", "codex")
    for path in MODULES:
        inside = path.relative_to(ROOT).parts
        if inside[:2] == ("memex_hooks", "harnesses") or inside[0] == "memex_core":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Compare):
                constants = [
                    c.value
                    for c in ast.walk(node)
                    if isinstance(c, ast.Constant) and isinstance(c.value, str)
                ]
                assert not any(name in text for name in names for text in constants), (
                    f"{name_of(path)}:{node.lineno}"
                )


def test_the_core_has_never_heard_of_a_harness() -> None:
    for path in (ROOT / "memex_core").rglob("*"):
        if path.suffix in (".py", ".sql") and path.stem not in ("__init__", "redact"):
            code = path.read_text("utf-8").lower()
            assert "codex" not in code and "claude" not in code, name_of(path)


@pytest.mark.parametrize("module", ["memex_hooks.recall_hook", "memex_hooks.worker"])
def test_the_hook_path_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'click', 'mcp', 'watchdog', 'yaml'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_a_room_does_not_load_the_whole_house() -> None:
    code = "import sys, memex_core.paths; print(sorted(m for m in sys.modules if m.startswith('memex_core')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['memex_core', 'memex_core.errors', 'memex_core.paths']"
