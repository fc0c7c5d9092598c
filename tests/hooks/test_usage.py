"""`memex-hooks usage`: tables over sidecars (issue 2 item 4)."""

from __future__ import annotations

from memex_core.memory.accounting import apply_usage
from memex_core.model.session import Response
from memex_core.model.sidecar import Sidecar
from memex_hooks.usage import table_total, usage_table


def sidecar(name: str, project: str, *responses: Response) -> Sidecar:
    one = Sidecar(name, title=f"Title {name}", started_at=f"2026-09-1{name[-1]}T00:00:00Z", project=project)
    one.project_label = project.rsplit("/", 1)[-1]
    one.responses = list(responses)
    one.usage_fields = {"total_tokens": ["input", "output"]}
    apply_usage(one)
    return one


def response(name: str, model: str, day: str, output: int, *, final: bool = True) -> Response:
    return Response(name, model, f"{day}T10:00:00Z", 1, input=100, cache_read=7, output=output, final=final)


SIDECARS = [
    sidecar(
        "s2", "/p/shop", response("a", "opus", "2026-09-12", 10), response("b", "haiku", "2026-09-13", 20)
    ),
    sidecar("s1", "/p/blog", response("c", "opus", "2026-09-11", 30, final=False)),
]


def test_by_session_is_ordered_by_start_and_named_by_title() -> None:
    assert [row.label for row in usage_table(SIDECARS, "session")] == ["Title s1", "Title s2"]


def test_every_table_sums_to_the_same_total() -> None:
    for by in ("session", "day", "model", "project"):
        total = table_total(usage_table(SIDECARS, by))  # type: ignore[arg-type]
        assert (total.total, total.counts["requests"], len(total.sessions)) == (3 * 107 + 60, 3, 2)


def test_by_day_and_model_split_a_session() -> None:
    assert [row.key for row in usage_table(SIDECARS, "day")] == ["2026-09-11", "2026-09-12", "2026-09-13"]
    assert {row.key: row.counts["output"] for row in usage_table(SIDECARS, "model")} == {
        "opus": 40,
        "haiku": 20,
    }


def test_by_project_uses_the_label_and_keeps_projects_of_the_same_name_apart() -> None:
    twins = [*SIDECARS, sidecar("s3", "/q/shop", response("d", "opus", "2026-09-13", 1))]
    rows = usage_table(twins, "project")
    assert [row.label for row in rows] == ["blog", "shop", "shop"]


def test_since_and_until_include_their_days() -> None:
    rows = usage_table(SIDECARS, "day", since="2026-09-12", until="2026-09-12")
    assert [row.key for row in rows] == ["2026-09-12"]


def test_a_lower_bound_is_marked_as_one() -> None:
    rows = usage_table(SIDECARS, "session")
    assert [row.at_least for row in rows] == [True, False]
    assert table_total(rows).at_least


def test_a_response_counted_in_another_session_is_not_counted_here() -> None:
    copy = sidecar("s4", "/p/shop", response("a", "opus", "2026-09-12", 10))
    copy.counted_elsewhere = {"a": "s2"}
    apply_usage(copy)
    assert table_total(usage_table([copy], "session")).total == 0
