"""Items of RSS and Atom: keys, dates, addresses, faults of XML."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree.ElementTree import Element

import pytest

from core.errors import Malformed
from core.model.post import Post
from core.sources.drafts import MediaDraft
from core.sources.rss_item import read_item
from core.sources.xml_page import MAX_DEPTH
from tests.support.pages import URL, parse, rss

ENCLOSURE = '<enclosure url="/v/1.jpg" type="image/jpeg"/>'
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.example.com/x/">%s</feed>'


def _reason(body: bytes | str) -> str:
    with pytest.raises(Malformed) as caught:
        parse("rss", body)
    return caught.value.reason


# --- items that lack something ---


def test_an_item_without_anything_is_kept() -> None:
    page = parse("rss", rss(""))

    assert len(page.posts) == 1
    assert [s.reason for s in page.skipped] == ["no_media"]


def test_an_item_without_id_is_known_by_its_link() -> None:
    (post,) = parse("rss", rss(f"<link>/posts/1</link>{ENCLOSURE}")).posts

    assert post.key == "https://site.example.com/posts/1"


def test_an_item_without_id_and_link_is_known_by_its_content() -> None:
    first, second = parse("rss", rss("<title>One</title>", "<title>Two</title>")).posts

    assert first.key.startswith("digest:")
    assert first.key != second.key
    assert first.key == parse("rss", rss("<title>One</title>")).posts[0].key


def test_a_bad_date_costs_the_date_only() -> None:
    (post,) = parse("rss", rss(f"<pubDate>not a date</pubDate>{ENCLOSURE}")).posts

    assert post.created_at is None
    assert post.notes == ("pubDate: not a date: 'not a date'",)
    assert len(post.media) == 1


def test_a_date_that_can_be_read_is_taken_after_one_that_can_not() -> None:
    (post,) = parse(
        "rss", rss("<pubDate>soon</pubDate><dc:date>2026-03-01T00:00:00Z</dc:date>")
    ).posts

    assert post.created_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_one_bad_item_never_drops_the_page() -> None:
    bad = '<guid>bad</guid><enclosure url="http://[::1/x" length="9e99" type="///"/>'
    page = parse("rss", rss("<guid>a</guid>" + ENCLOSURE, bad, "<guid>c</guid>" + ENCLOSURE))

    assert [post.key for post in page.posts] == ["a", "bad", "c"]
    assert [len(post.media) for post in page.posts] == [1, 0, 1]


def test_the_same_item_twice_is_kept_once() -> None:
    item = f"<guid>a</guid>{ENCLOSURE}"
    page = parse("rss", rss(item, item))

    assert len(page.posts) == 1
    assert [(s.where, s.reason) for s in page.skipped] == [("item 2", "duplicate")]


def test_items_that_share_an_id_are_all_kept() -> None:
    page = parse("rss", rss("<guid>x</guid><title>1</title>", "<guid>x</guid><title>2</title>"))

    assert [post.title for post in page.posts] == ["1", "2"]
    assert len({post.key for post in page.posts}) == 2
    assert "also another item's" in page.posts[1].notes[0]


# --- addresses ---


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("/v/1.jpg", "https://site.example.com/v/1.jpg"),
        ("//cdn.example.com/1.jpg", "https://cdn.example.com/1.jpg"),
        ("1.jpg?a=1&amp;b=2#part", "https://site.example.com/1.jpg?a=1&b=2"),
        (" https://cdn.example.com/a b.jpg ", "https://cdn.example.com/a%20b.jpg"),
    ],
)
def test_an_address_resolves_against_the_page(raw: str, whole: str) -> None:
    (post,) = parse("rss", rss(f'<enclosure url="{raw}" type="image/jpeg"/>')).posts

    assert post.media[0].renditions[0].url == whole


def test_a_relative_address_in_a_local_file_is_skipped() -> None:
    page = parse("rss", rss(ENCLOSURE), url="file:feed.xml")

    assert [(s.where, s.reason) for s in page.skipped] == [
        ("item 1, enclosure 1", "relative_without_base")
    ]


def test_xml_base_gives_a_local_file_its_base_and_nests() -> None:
    body = ATOM % (
        '<entry xml:base="y/"><link rel="enclosure" href="1.jpg"/>'
        '<link rel="enclosure" href="2.jpg" xml:base="z/"/></entry>'
    )
    (post,) = parse("rss", body, url="file:feed.xml").posts

    assert [m.renditions[0].url for m in post.media] == [
        "https://a.example.com/x/y/1.jpg",
        "https://a.example.com/x/y/z/2.jpg",
    ]


def test_a_base_that_is_no_address_changes_nothing() -> None:
    body = (ATOM % '<entry><link rel="enclosure" href="1.jpg"/></entry>').replace(
        "https://a.example.com/x/", "file:///etc/"
    )
    (post,) = parse("rss", body).posts

    assert post.media[0].renditions[0].url == "https://site.example.com/1.jpg"


# --- paging ---


def test_the_next_page_is_an_absolute_address() -> None:
    page = parse("rss", rss(channel='<atom:link rel="next" href="?page=2"/>'))

    assert page.cursor == f"{URL}?page=2"


def test_the_next_page_is_found_behind_the_items() -> None:
    body = rss("<guid>1</guid>").replace(
        "</channel>", '<atom:link rel="next" href="/2"/></channel>'
    )

    assert parse("rss", body).cursor == "https://site.example.com/2"


def test_an_items_own_links_are_no_paging() -> None:
    assert parse("rss", rss('<atom:link rel="next" href="/2"/>')).cursor is None


def test_a_next_page_that_can_not_be_asked_for_is_told() -> None:
    page = parse("rss", rss(channel='<atom:link rel="next" href="ftp://x.example.com/"/>'))

    assert page.cursor is None
    assert [(s.where, s.reason) for s in page.skipped] == [("next page", "not_http_url")]


def test_feeds_stand_newest_first() -> None:
    assert parse("rss", rss()).newest_first


# --- authors ---


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("<author>q@site.example.com (Quill)</author>", "Quill"),
        ("<author>q@site.example.com</author>", "q@site.example.com"),
        ("<dc:creator>  Quill \n Two </dc:creator>", "Quill Two"),
        ('<media:credit role="author">Quill</media:credit>', "Quill"),
    ],
)
def test_who_posted_is_told_in_several_ways(told: str, name: str) -> None:
    (post,) = parse("rss", rss(told)).posts

    assert post.author is not None
    assert post.author.name == name


def test_an_entry_without_author_has_the_feeds_even_when_it_stands_last() -> None:
    (post,) = parse("rss", ATOM % "<entry/><author><name>Feed</name></author>").posts

    assert post.author is not None
    assert post.author.name == "Feed"


def test_an_entry_has_its_sources_author_before_the_feeds() -> None:
    body = ATOM % (
        "<author><name>Feed</name></author>"
        "<entry><source><author><name>Source</name></author></source></entry>"
    )
    (post,) = parse("rss", body).posts

    assert post.author is not None
    assert post.author.name == "Source"


# --- faults of XML ---


@pytest.mark.parametrize(
    "dtd",
    [
        "<!DOCTYPE rss [<!ENTITY a 'b'>]>",
        "<!DOCTYPE rss SYSTEM 'file:///etc/passwd'>",
        "<!DOCTYPE rss [<!ENTITY % p SYSTEM 'http://127.0.0.1/'> %p;]>",
        "<!DOCTYPE rss [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>",
    ],
)
def test_a_dtd_is_refused_by_the_name_of_the_rule(dtd: str) -> None:
    with pytest.raises(Malformed, match="no DTD and no entities") as caught:
        parse("rss", f"{dtd}{rss('<title>&a;</title>')}")

    assert caught.value.reason == "xml_dtd_refused"


def test_endless_nesting_is_refused() -> None:
    deep = "<x>" * (MAX_DEPTH + 1)

    assert _reason(rss(deep + deep.replace("<", "</"))) == "too_deep"


def test_another_kind_of_xml_is_named() -> None:
    with pytest.raises(Malformed, match="<opml>") as caught:
        parse("rss", "<opml><body/></opml>")

    assert caught.value.reason == "not_a_feed"


def test_text_that_is_no_xml_is_refused() -> None:
    assert _reason('{"items": []}') == "bad_xml"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Fish & chips", "Fish & chips"),
        ("a&nbsp;b&eacute;", "a\xa0b\xe9"),
        ("a &unknown; b", "a &unknown; b"),
        ("AT&T &amp; co", "AT&T & co"),
        ("control \x0b \x01 &#1; gone", "control gone"),
        ("<![CDATA[raw & &nbsp;]]> &", "raw & &nbsp; &"),
    ],
)
def test_hand_made_xml_is_mended_with_a_note(written: str, meant: str) -> None:
    page = parse("rss", rss(f"<guid>g</guid><title>{written}</title>{ENCLOSURE}"))

    assert page.posts[0].title is not None
    assert page.posts[0].title.split() == meant.split()
    assert len(page.posts[0].media) == 1
    assert len(page.notes) == (written != "AT&amp;T")


def test_an_undeclared_prefix_is_taken_for_what_everybody_means() -> None:
    body = rss(f'<media:group><media:content url="/1.png"/></media:group>{ENCLOSURE}')
    page = parse("rss", body.replace(' xmlns:media="http://search.yahoo.com/mrss/"', ""))

    assert len(page.posts[0].media) == 2


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "euc-jp", "utf-16", "iso-8859-1"])
def test_encodings_of_the_web_are_read(encoding: str) -> None:
    title = "caf\xe9" if encoding == "iso-8859-1" else "水車"
    body = f'<?xml version="1.0" encoding="{encoding}"?>' + rss(f"<title>{title}</title>")

    assert parse("rss", body.encode(encoding)).posts[0].title == title


def test_blanks_before_the_declaration_are_forgiven() -> None:
    page = parse("rss", '\n\n<?xml version="1.0"?>' + rss("<guid>1</guid>"))

    assert [post.key for post in page.posts] == ["1"]


def test_what_stands_behind_the_feeds_end_is_no_part_of_it() -> None:
    page = parse("rss", rss("<guid>1</guid>") + "\n<b>Warning</b>: memory & more")

    assert [post.key for post in page.posts] == ["1"]


def test_tags_that_do_not_match_are_read_tolerantly_with_a_note() -> None:
    item = (
        "<guid>1</guid><title>A <b>bold</title><pubDate>Sat, 07 Mar 2026 09:05:06 GMT</pubDate>"
        '<enclosure url="/v/1.jpg" length="12" type="image/jpeg"/>'
    )
    page = parse("rss", rss(item))

    (post,) = page.posts
    assert post.key == "1"
    assert post.created_at == datetime(2026, 3, 7, 9, 5, 6, tzinfo=UTC)
    assert post.media[0].renditions[0].url == "https://site.example.com/v/1.jpg"
    assert "tags do not match" in page.notes[0]


def test_groups_are_never_read_tolerantly() -> None:
    item = '<title>A <b>bold</title><media:group><media:content url="/1.png"/></media:group>'

    assert _reason(rss(item)) == "bad_xml"


def test_many_items_do_not_keep_their_xml() -> None:
    page = parse("rss", rss(*(f"<guid>{n}</guid>" for n in range(5000))))

    assert len(page.posts) == 5000


def test_rss_1_items_beside_the_channel_are_read() -> None:
    body = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns="http://purl.org/rss/1.0/"><channel><title>c</title></channel>'
        "<item><title>t</title><link>https://site.example.com/1</link></item></rdf:RDF>"
    )

    assert [post.key for post in parse("rss", body).posts] == ["https://site.example.com/1"]


def test_an_item_that_no_record_can_hold_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_on_the_second(item: Element, base: str | None, draft: MediaDraft) -> Post:
        if item.findtext("guid") == "2":
            raise ValueError("out of range")
        return read_item(item, base, draft)

    monkeypatch.setattr("core.sources.rss.read_item", fails_on_the_second)
    page = parse("rss", rss(*(f"<guid>{n}</guid>{ENCLOSURE}" for n in (1, 2, 3))))

    assert [post.key for post in page.posts] == ["1", "3"]
    assert [(s.where, s.reason) for s in page.skipped] == [("item 2", "unreadable_item")]
