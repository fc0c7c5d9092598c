from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex_core.text.slug import fold, numbered, slugify, title_key

ANY_TEXT = st.text(st.characters(categories=None), max_size=90)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Ruff linter", "ruff-linter"),
        ("  --Hello,   World!--  ", "hello-world"),
        ("snake_case & CamelCase", "snake-case-camelcase"),
        ("Fix: [[a]] #1 'q' \"x\" — 部署", "fix-a-1-q-x-部署"),
        ("yes", "yes"),
        ("1.10", "1-10"),
        ("Straße", "strasse"),
        ("ÉCLAIR", "éclair"),
        ("हिन्दी भाषा", "हिन्दी-भाषा"),
        ("x" * 100, "x" * 64),
        ("a" * 63 + " b", "a" * 63),
    ],
)
def test_a_title_gives_this_slug(title: str, slug: str) -> None:
    assert slugify(title) == slug


@pytest.mark.parametrize("title", ["con", "PRN", "aux", "NUL", "com1", "LPT9", "con."])
def test_a_slug_is_never_a_windows_device_name(title: str) -> None:
    assert slugify(title) == f"{slugify(title.strip('.').lower()).removesuffix('-page')}-page"
    assert slugify(title) not in {"con", "prn", "aux", "nul", "com1", "lpt9"}


def test_a_title_without_letters_takes_the_id() -> None:
    assert slugify("🎉 !!", fallback="a1b2c3d4-e5f6-7890") == "a1b2c3d4"
    assert slugify("🎉") == ""


def test_composed_and_decomposed_titles_share_a_slug() -> None:
    assert slugify("café") == slugify(unicodedata.normalize("NFD", "café"))


def test_invisible_letters_make_no_second_name() -> None:
    assert slugify("dep\ufe0floy\u3164") == slugify("deploy")


def test_a_slug_of_wide_letters_fits_a_file_name() -> None:
    assert len((numbered(slugify("𐌰" * 80), 12345) + ".md").encode()) <= 255


def test_sha1_slugs_are_ascii_and_equal_for_equal_titles() -> None:
    slug = slugify("部署  Plan", algo="sha1")
    assert slug == slugify("部署 plan", algo="sha1")
    assert slug.isascii() and len(slug) == 40


def test_numbered_slugs_stay_within_64_characters() -> None:
    assert numbered("x" * 64, 2) == "x" * 62 + "-2"
    assert numbered("abc", 1) == "abc"


def test_titles_are_equal_but_for_case_form_and_spacing() -> None:
    assert title_key(" Use  RUFF\tnow ") == title_key("use ruff now")
    assert title_key("Use ruff") != title_key("Use ruff!")


@settings(deadline=None, max_examples=400)
@given(ANY_TEXT)
def test_a_slug_is_its_own_slug_and_a_safe_name(title: str) -> None:
    slug = slugify(title)
    assert slugify(slug) == slug
    assert fold(slug) == slug
    assert len(slug) <= 69 and "/" not in slug and "\\" not in slug and not slug.startswith((".", "-"))
    assert unicodedata.normalize("NFC", slug) == slug
