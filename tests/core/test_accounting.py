"""Totals of a sidecar and who owns a shared response (DESIGN §3, rows tokens and owner)."""

from __future__ import annotations

import itertools

from memex_core.memory.accounting import apply_usage
from memex_core.memory.sharing import is_earlier, share_responses
from memex_core.model.session import COUNT_FIELDS, Response
from memex_core.model.sidecar import Sidecar

NAMES = {
    "input_tokens": ["input"],
    "output_tokens": ["output"],
    "total_tokens": ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"],
}


def response(name: str, ts: str = "2026-09-15T10:00:00Z", turn: int = 1, **counts: int) -> Response:
    return Response(name, "model-a", ts, turn, **{"input": 10, "output": 5, **counts})  # type: ignore[arg-type]


def sidecar(name: str, born: str, responses: list[Response]) -> Sidecar:
    return Sidecar(name, born_at=born, started_at=born, responses=responses, usage_fields=NAMES)


def test_turn_counts_sum_to_the_session_total() -> None:
    one = sidecar(
        "a", "2026-09-15T10:00:00Z", [response("r1", turn=2), response("r2", turn=2), response("r3", turn=5)]
    )
    apply_usage(one)
    assert one.token_usage == {"input_tokens": 30, "output_tokens": 15, "total_tokens": 45}
    assert one.turn_token_usage["2"]["total_tokens"] == 30
    assert sum(counts["total_tokens"] for counts in one.turn_token_usage.values()) == 45


def test_models_and_days_each_sum_to_the_same_total() -> None:
    rows = [response("r1"), response("r2", "2026-09-16T10:00:00Z", reasoning=2)]
    rows[1].model = "model-b"
    one = sidecar("a", "2026-09-15T10:00:00Z", rows)
    apply_usage(one)
    for name in COUNT_FIELDS:
        by_model = sum(counts[name] for counts in one.usage_by_model.values())
        by_day = sum(counts[name] for day in one.usage_by_day.values() for counts in day.values())
        assert by_model == by_day
    assert set(one.usage_by_day) == {"2026-09-15", "2026-09-16"}


def test_a_log_without_counts_has_no_total() -> None:
    one = sidecar("a", "", [])
    apply_usage(one, known=False)
    assert one.token_usage is None


def test_responses_without_a_final_count_are_a_lower_bound() -> None:
    one = sidecar("a", "", [Response("r1", "m", "", 1, output=3, final=False)])
    apply_usage(one)
    assert one.lower_bound_responses == 1


def family() -> dict[str, Sidecar]:
    """An original, its fork, and the fork's fork: each copies what was there before."""
    first, second, third = (response(f"r{n}", f"2026-09-15T1{n}:00:00Z") for n in (0, 1, 2))
    copies = lambda *items: [Response(**{f: getattr(r, f) for f in Response.__slots__}) for r in items]  # noqa: E731
    return {
        "a": sidecar("a", "2026-09-15T10:00:00Z", copies(first)),
        "b": sidecar("b", "2026-09-15T11:00:00Z", copies(first, second)),
        "c": sidecar("c", "2026-09-15T12:00:00Z", copies(first, second, third)),
    }


def test_a_shared_response_counts_once_in_the_earliest_session_whatever_the_order() -> None:
    for order in itertools.permutations("abc"):
        all_of_them = family()
        met: list[str] = []
        for name in order:
            for other in met:
                share_responses(all_of_them[name], all_of_them[other])
            met.append(name)
        for one in all_of_them.values():
            apply_usage(one)
        totals = {name: (one.token_usage or {})["total_tokens"] for name, one in all_of_them.items()}
        assert totals == {"a": 15, "b": 15, "c": 15}, order


def test_the_owner_takes_the_greatest_output_that_any_copy_saw() -> None:
    original = sidecar("a", "2026-09-15T10:00:00Z", [response("r1", output=1)])
    fork = sidecar("b", "2026-09-15T11:00:00Z", [response("r1", output=159)])
    share_responses(fork, original)
    apply_usage(original)
    assert (original.token_usage or {})["output_tokens"] == 159


def test_a_fork_that_names_its_parent_is_the_younger_one() -> None:
    parent, fork = sidecar("z", "2026-09-15T10:00:00Z", []), sidecar("a", "2026-09-15T10:00:00Z", [])
    fork.metadata["forked_from"] = "z"
    assert is_earlier(parent, fork) and not is_earlier(fork, parent)


def test_of_two_logs_that_begin_alike_the_one_captured_first_is_the_original() -> None:
    original, fork = sidecar("z", "2026-09-15T10:00:00Z", []), sidecar("a", "2026-09-15T10:00:00Z", [])
    original.seniority, fork.seniority = "2026-09-15T10:01:00", "2026-09-15T10:02:00"
    assert is_earlier(original, fork) and not is_earlier(fork, original)
