"""`memex grep` and `memex graph` (issue 4 item 8)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from memex_program import memex_cli, memex_program

from memex_core.cli import grep as grep_command
from memex_core.memex import Memex
from memex_core.model.node import WriteInput
from memex_core.store.diary import Diary
from memex_core.store.recallfiles import RecallFileStore

pytestmark = pytest.mark.filterwarnings("ignore::memex_core.errors.BrokenLinkWarning")


@pytest.fixture
def memory(root: Path) -> Path:
    memex = Memex(root)
    memex.write(WriteInput("procedure", "Deploy", "Run make deploy on Zephyr.\n\nSee [[Zephyr]]."))
    memex.write(WriteInput("entity", "Zephyr", "Our build server. [[pets:cat]] [[Nowhere]] `[[deploy]]`"))
    items = RecallFileStore(root)
    items.add("pets", "cat", "Tabby, likes [[pets:dog]] and [[ pets : cow ]].", ts="T1")
    items.add("pets", "dog", "Barks at the zephyr.\n```\n[[pets:cat]]\n```", ts="T2")
    Diary(root).append("Deployed, see [[deploy]].", date="2026-09-15", time="10:00")
    return root


def grep(*arguments: str) -> list[str]:
    """The files and numbers of the lines printed, without their texts."""
    return re.findall(r"^(\S+:\d+): ", memex_cli("grep", *arguments).stdout, re.MULTILINE)


# --- grep


def test_grep_prints_file_line_and_text_of_pages_items_and_events(memory: Path) -> None:
    done = memex_cli("grep", "Deployed|Tabby|build server")
    assert done.returncode == 0
    page = (memory / "docs" / "entities" / "zephyr.md").read_text("utf-8").splitlines()
    number = next(number for number, line in enumerate(page, 1) if "build server" in line)
    assert done.stdout.splitlines() == [
        f"docs/entities/zephyr.md:{number}: Our build server. [[pets:cat]] [[Nowhere]] `[[deploy]]`",
        "wiki/pets.md:5: Tabby, likes [[pets:dog]] and [[ pets : cow ]].",
        "diary/2026-09-15.md:5: Deployed, see [[deploy]].",
    ]


def test_grep_reads_titles_headings_and_every_line_of_the_files(memory: Path) -> None:
    assert [line.rpartition(":")[0] for line in grep("^title: .*Zephyr")] == ["docs/entities/zephyr.md"]
    assert grep("^## dog$") == ["wiki/pets.md:9"]
    assert grep("^## 10:00$") == ["diary/2026-09-15.md:3"]


def test_grep_can_ignore_case_and_take_some_kinds_only(memory: Path) -> None:
    assert {line.split("/")[0] for line in grep("ZEPHYR", "-i")} == {"docs", "wiki"}
    assert memex_cli("grep", "ZEPHYR").returncode == 1
    assert grep("zephyr", "--type", "item") == ["wiki/pets.md:11"]
    assert [line.split(":")[0] for line in grep("eploy", "--type", "event", "--type", "item")] == [
        "diary/2026-09-15.md"
    ]
    assert {line.split(":")[0] for line in grep("eploy", "--type", "procedure")} == {
        "docs/procedures/deploy.md"
    }


def test_grep_gives_json_where_it_is_asked_for(memory: Path) -> None:
    assert memex_cli("grep", "Barks", "--json").json == [
        {"file": "wiki/pets.md", "line": 11, "text": "Barks at the zephyr."}
    ]
    nothing = memex_cli("grep", "nothing of the kind", "--json")
    assert (nothing.returncode, json.loads(nothing.stdout)) == (1, [])


def test_grep_exits_1_where_nothing_matches_and_2_for_no_pattern(memory: Path) -> None:
    nothing = memex_cli("grep", "nothing of the kind")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "")
    for pattern in ("(", "*", "(?P<a", "(" * 5_000, "a{9999999999999}"):
        wrong = memex_cli("grep", pattern)
        assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1, pattern


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(.*)*(.*)*(.*)*b"])
def test_a_pattern_that_would_take_for_ever_is_stopped(
    root: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    RecallFileStore(root).add("f", "a", "a" * 60 + "!")
    monkeypatch.setattr(grep_command, "LIMIT_S", 0.3)
    started = time.monotonic()
    done = memex_cli("grep", pattern)
    assert time.monotonic() - started < 5
    assert done.returncode == 2 and "takes more than 0.3 s" in done.stderr


@pytest.mark.parametrize("pattern", ["needle", r"\s+needle", "x*y", r"(?: +)+z"])
def test_a_line_of_any_length_is_searched_in_time(
    root: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(grep_command, "LIMIT_S", 2.0)
    RecallFileStore(root).add("f", "a", f"x{' ' * 100_000}y {'word ' * 400_000}needle here")
    started = time.monotonic()
    done = memex_cli("grep", pattern)
    assert time.monotonic() - started < 6
    assert done.returncode in (0, 2)
    if done.returncode == 0:
        assert len(done.stdout) < 400


def test_a_match_that_spans_a_paragraph_is_found(root: Path) -> None:
    RecallFileStore(root).add("f", "a", "first " + "word " * 1_500 + "last " + "word " * 300)
    assert grep("first.*last") == ["wiki/f.md:5"]
    assert grep("^first .* word$") == ["wiki/f.md:5"]


def test_a_match_at_the_end_of_a_long_line_is_shown_with_what_stands_around_it(root: Path) -> None:
    RecallFileStore(root).add("f", "a", "word " * 5_000 + "needle here")
    (line,) = memex_cli("grep", "needle").stdout.splitlines()
    assert line.startswith("wiki/f.md:5: …") and line.endswith("needle here")


def test_a_file_that_cannot_be_read_is_named_and_costs_no_other(memory: Path) -> None:
    (memory / "wiki" / "latin.md").write_bytes(b"## caf\xe9\n")
    (memory / "wiki" / "folder.md").mkdir()
    (memory / "docs" / "entities" / "latin.md").write_bytes(b"caf\xe9 Tabby\n")
    done = memex_cli("grep", "Tabby")
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "docs/entities/latin.md",
        "wiki/pets.md",
    ]
    assert "wiki/latin.md is not UTF-8" in done.stderr


def test_lines_are_counted_as_an_editor_counts_them(root: Path) -> None:
    path = root / "wiki" / "f.md"
    path.parent.mkdir(parents=True)
    path.write_bytes("# f\r\n\r\n## a\r\none\u2028two\rthree\r\n".encode())
    assert grep("t(wo|hree)$") == ["wiki/f.md:4", "wiki/f.md:5"]


def test_what_would_steer_a_terminal_is_left_out(root: Path) -> None:
    RecallFileStore(root).add("f", "a", "needle\x9b31m")
    assert "\x9b" not in memex_cli("grep", "needle").stdout


def test_a_file_name_is_on_one_line_whatever_it_holds(root: Path) -> None:
    path = root / "wiki" / "a\nb.md"
    path.parent.mkdir(parents=True)
    path.write_text("needle\n", "utf-8")
    assert memex_cli("grep", "needle").stdout == "wiki/a b.md:1: needle\n"
    assert memex_cli("grep", "needle", "--json").json[0]["file"] == "wiki/a\nb.md"


def test_a_reader_that_leaves_early_is_no_failure(root: Path) -> None:
    path = root / "wiki" / "many.md"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"## item {number}\n\nneedle\n" for number in range(50_000)), "utf-8")
    command = f"{sys.executable} -m memex_core.cli grep needle | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"wiki/many.md:3: needle\n", b"")


# --- graph


def graph(memory: Path) -> dict[str, Any]:
    found: dict[str, Any] = memex_cli("graph", "--format", "json").json
    return found


def test_the_graph_holds_pages_items_events_and_what_is_missing(memory: Path) -> None:
    nodes = {node["id"]: node for node in graph(memory)["nodes"]}
    assert {name: node["type"] for name, node in nodes.items()} == {
        "entity/zephyr": "entity",
        "procedure/deploy": "procedure",
        "pets:cat": "item",
        "pets:dog": "item",
        "2026-09-15#0": "event",
        "[[nowhere]]": "missing",
        "[[pets:cow]]": "missing",
    }
    assert [name for name, node in nodes.items() if node["unresolved"]] == ["[[nowhere]]", "[[pets:cow]]"]
    assert nodes["entity/zephyr"]["file"] == "docs/entities/zephyr.md"
    assert nodes["pets:cat"]["file"] == "wiki/pets.md"
    assert nodes["2026-09-15#0"]["title"] == "2026-09-15 10:00 Deployed, see [[deploy]]."
    for node in nodes.values():
        assert node["unresolved"] or (memory / node["file"]).is_file()


def test_the_graph_leads_from_each_to_each_and_reads_no_code(memory: Path) -> None:
    assert {(edge["source"], edge["target"]) for edge in graph(memory)["edges"]} == {
        ("procedure/deploy", "entity/zephyr"),
        ("entity/zephyr", "pets:cat"),
        ("entity/zephyr", "[[nowhere]]"),
        ("pets:cat", "pets:dog"),
        ("pets:cat", "[[pets:cow]]"),
        ("2026-09-15#0", "procedure/deploy"),
    }


def test_a_link_that_fits_two_means_what_the_index_takes_it_for(root: Path) -> None:
    memex = Memex(root)
    for kind in ("entity", "procedure", "preference"):
        memex.write(WriteInput(kind, "Deploy", "x"))
    memex.write(WriteInput("entity", "pets cat", "x"))
    memex.write(WriteInput("procedure", "Steps", "[[deploy]] [[preference/deploy]] [[pets:cat]]"))
    RecallFileStore(root).add("pets", "cat", "[[deploy]] [[pets:cat]]")
    assert {(edge["source"], edge["target"]) for edge in graph(root)["edges"]} == {
        ("procedure/steps", "procedure/deploy"),
        ("procedure/steps", "preference/deploy"),
        ("procedure/steps", "entity/pets-cat"),
        ("pets:cat", "entity/deploy"),
        ("pets:cat", "pets:cat"),
    }


def test_a_link_to_an_item_leads_to_the_page_that_it_was_imported_as(root: Path) -> None:
    for folder, title in (("procedures", "Other"), ("entities", "Tabby")):
        path = root / "docs" / folder / f"{title.lower()}.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\ntitle: {title}\nwikimem: {{file: pets, name: tall cat}}\n---\nx\n", "utf-8")
    RecallFileStore(root).add("food", "fish", "[[pets: tall  cat|Tabby]] [[pets:dog]] [[pets:Tall cat]]")
    Diary(root).append("[[pets:tall cat]]", date="2026-09-15", time="10:00")
    Memex(root).write(WriteInput("entity", "Source", "[[pets:tall cat]]"))
    edges = {
        ("food:fish", "entity/tabby"),
        ("food:fish", "[[pets:dog]]"),
        ("food:fish", "[[pets:Tall cat]]"),
        ("2026-09-15#0", "entity/tabby"),
        ("entity/source", "entity/tabby"),
    }
    assert {(edge["source"], edge["target"]) for edge in graph(root)["edges"]} == edges
    RecallFileStore(root).add("pets", "tall cat", "The item is meant before the page.")
    assert {(edge["source"], edge["target"]) for edge in graph(root)["edges"]} == {
        (source, target.replace("entity/tabby", "pets:tall cat")) for source, target in edges
    }


def test_the_mermaid_chart_has_a_node_and_an_edge_for_each(memory: Path) -> None:
    RecallFileStore(memory).add("odd", 'a "quoted" <b> `c`', "x")
    chart = memex_cli("graph").stdout
    lines = chart.splitlines()
    assert lines[0] == "graph LR"
    nodes = dict(re.findall(r'^  (n\d+)\["([^"\n]*)"\]:::\w+$', chart, re.MULTILINE))
    edges = re.findall(r"^  (n\d+) --> (n\d+)$", chart, re.MULTILINE)
    styles = re.findall(r"^  classDef (\w+) .+$", chart, re.MULTILINE)
    assert len(lines) == 1 + len(nodes) + len(edges) + len(styles)
    assert len(nodes) == 8 and len(edges) == 6 and {end for edge in edges for end in edge} <= set(nodes)
    assert "odd:a #34;quoted#34; #60;b#62; #96;c#96;" in nodes.values()
    assert set(re.findall(r":::(\w+)$", chart, re.MULTILINE)) <= set(styles)


class Page(HTMLParser):
    """What an HTML page asks for, and the script elements in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.asked += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


def test_the_page_needs_nothing_but_itself(memory: Path, tmp_path: Path) -> None:
    target = tmp_path / "memory.html"
    done = memex_cli("graph", "--format", "html", "--output", str(target))
    assert done.stdout == f"5 nodes, 6 links (2 broken): {target}\n"
    text = target.read_text("utf-8")
    page = Page(text)
    assert page.asked == [] and not re.search(r"(?i)https?:|//[a-z]|@import|url\(|fetch\(|import\(", text)
    assert "default-src 'none'" in text
    assert json.loads(page.scripts[0]) == graph(memory)


def test_no_word_of_the_memory_becomes_a_part_of_the_page(memory: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--<img src=x onerror=y>"
    Memex(memory).write(WriteInput("entity", hostile, "{{colours}} {{graph}}"))
    Diary(memory).append(hostile + "{{graph}}", date="2026-09-16", time="10:00")
    text = memex_cli("graph", "--format", "html").stdout
    page = Page(text)
    assert len(page.scripts) == 2 and "img" not in page.tags
    assert hostile[:60] in {node["title"][:60] for node in json.loads(page.scripts[0])["nodes"]}


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript here")
def test_the_script_of_the_page_draws_and_answers(memory: Path, tmp_path: Path) -> None:
    page = Page(memex_cli("graph", "--format", "html").stdout)
    (tmp_path / "page.js").write_text(BROWSER % json.dumps(page.scripts[0]) + page.scripts[1] + PLAY, "utf-8")
    done = subprocess.run(["node", str(tmp_path / "page.js")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"arcs": True, "texts": True, "finite": True, "chosen": True}


BROWSER = """
const drawn = { arc: 0, fillText: 0 };
const count = name => (...args) => { if (name in drawn) drawn[name]++; };
const brush = new Proxy({}, { get: (_, name) => count(name), set: () => true });
const element = () => ({
  style: {}, all: [], append(...more) { this.all.push(...more); }, replaceChildren() { this.all = []; },
  getContext: () => brush, setPointerCapture() {},
});
const elements = {};
const getElementById = id => elements[id] = elements[id] || element();
let frames = 0;
Object.assign(globalThis, {
  document: { body: {}, getElementById, createElement: element },
  window: { devicePixelRatio: 2 }, innerWidth: 800, innerHeight: 600,
  getComputedStyle: () => ({ color: "black" }),
  requestAnimationFrame: next => { if (frames++ < 400) next(); },
});
getElementById("graph").textContent = %s;
"""
PLAY = """
const first = nodes[0], place = { clientX: innerWidth / 2 + first.x, clientY: innerHeight / 2 + first.y };
canvas.onpointerdown({ ...place, pointerId: 1 });
canvas.onpointerup({});
canvas.onwheel({ preventDefault() {}, deltaY: -100, clientX: 1, clientY: 1 });
find.value = "zephyr"; find.oninput(); draw();
console.log(JSON.stringify({
  arcs: drawn.arc >= nodes.length, texts: drawn.fillText > 0, chosen: chosen === first,
  finite: nodes.every(node => Number.isFinite(node.x) && Number.isFinite(node.y)),
}));
"""


def test_an_empty_memory_is_an_empty_graph(root: Path) -> None:
    assert graph(root) == {"nodes": [], "edges": []}
    assert memex_cli("graph").stdout.startswith("graph LR\n")
    assert json.loads(Page(memex_cli("graph", "--format", "html").stdout).scripts[0]) == graph(root)


def test_pages_in_folders_of_no_type_are_in_the_graph_and_can_be_searched(root: Path) -> None:
    for name in ("notes/zephyr.md", "zephyr.md"):
        path = root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\ntype: procedure\ntitle: By hand\n---\nneedle\n", "utf-8")
    files = [node["file"] for node in graph(root)["nodes"]]
    assert sorted(files) == ["docs/notes/zephyr.md", "docs/zephyr.md"]
    assert len({node["id"] for node in graph(root)["nodes"]}) == 2
    assert grep("needle", "--type", "procedure") == ["docs/notes/zephyr.md:5", "docs/zephyr.md:5"]
    assert memex_cli("grep", "needle", "--type", "preference").returncode == 1


def test_a_graph_in_another_encoding_is_no_crash(memory: Path) -> None:
    RecallFileStore(memory).add("odd", "漢字", "x")
    for form in ("mermaid", "json", "html"):
        done = memex_program("graph", "--format", form, env={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0, done.stderr
