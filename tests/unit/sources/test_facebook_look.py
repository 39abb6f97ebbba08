"""The second look: full size, albums, and what it costs when it fails."""

from __future__ import annotations

import pytest

from core import errors
from core.model.post import FeedPage
from core.sources.facebook import FacebookAdapter
from core.sources.facebook_look import FIRST_SPLITS, MOST_SPLITS
from tests.support.graph import API, PAGE, Graph, photo, post, read, refused, sizes

ALBUM = "/v27.0/8100390/photos"


def _complete(page: FeedPage, graph: Graph) -> FeedPage:
    return FacebookAdapter().complete(page, graph)


def _album(listed: int, **more: object) -> dict[str, object]:
    children = [photo(str(810000 + n)) for n in range(listed)]
    return photo(
        "8100390", attached="album", media_type="album", subattachments={"data": children}, **more
    )


def _photos(count: int) -> dict[str, object]:
    return {str(810000 + n): sizes(str(810000 + n), 2048) for n in range(count)}


def test_a_pages_pictures_are_asked_for_at_once() -> None:
    graph = Graph(**{i: sizes(i, 720, 2048) for i in ("810001", "810002")})
    page = _complete(read(post("1", photo("810001")), post("2", photo("810002"))), graph)

    assert graph.asked == [f"{API}/?ids=810001,810002&fields=id,images"]
    (media,) = page.posts[1].media
    assert [r.width for r in media.renditions] == [2048, 720, 720]
    assert media.renditions[-1].url.endswith("810002_n.jpg?oh=00_a&oe=6A800000")


def test_a_page_without_small_pictures_asks_for_nothing() -> None:
    graph = Graph()
    page = read(sizes("81", 720, 2048), url=f"{API}/{PAGE}/photos")

    assert _complete(page, graph) == page
    assert graph.asked == []


def test_no_more_ids_go_into_a_request_than_it_takes() -> None:
    graph = Graph(**_photos(60))
    _complete(read(post("1", *[photo(str(810000 + n)) for n in range(60)])), graph)

    assert [url.count(",") for url in graph.asked] == [50, 10]  # of the ids, and of the fields


def test_one_photo_that_is_not_to_be_had_costs_the_others_nothing() -> None:
    photos = _photos(8) | {"810005": refused(10)}
    graph = Graph(**photos)
    page = _complete(read(post("1", *[photo(key) for key in photos])), graph)

    (found,) = page.posts
    assert [len(m.renditions) for m in found.media] == [2, 2, 2, 2, 2, 1, 2, 2]
    assert found.notes == ("pictures in no other size than the post's own: 1 (permission)",)


def test_halving_ends() -> None:
    graph = Graph()
    page = _complete(read(post("1", *[photo(str(810000 + n)) for n in range(50)])), graph)

    assert len(graph.asked) == 1 + 2 * FIRST_SPLITS
    assert len(page.posts[0].media) == 50


def test_halving_goes_on_longer_where_it_helps() -> None:
    photos = _photos(50) | {key: refused(100, 33) for key in ("810001", "810020", "810040")}
    graph = Graph(**photos)
    page = _complete(read(post("1", *[photo(key) for key in photos])), graph)

    assert 1 + 2 * FIRST_SPLITS < len(graph.asked) <= 1 + 2 * MOST_SPLITS
    assert sum(len(m.renditions) == 2 for m in page.posts[0].media) == 47


def test_an_answer_without_the_photo_leaves_the_small_one() -> None:
    graph = Graph()
    graph.on("/v27.0/", {"810001": None})
    (found,) = _complete(read(post("1", photo("810001"))), graph).posts

    assert len(found.media[0].renditions) == 1
    assert "no_images" in found.notes[0]


@pytest.mark.parametrize("code", [4, 190, 368])
def test_what_concerns_the_source_is_raised(code: int) -> None:
    graph = Graph(**{"810001": refused(code)})

    with pytest.raises(errors.Postponed):
        _complete(read(post("1", photo("810001"))), graph)


def test_a_source_that_does_not_answer_is_asked_again_with_the_whole_page() -> None:
    graph = Graph()
    graph.on("/v27.0/", errors.Timeout("slow"))

    with pytest.raises(errors.Timeout):
        _complete(read(post("1", photo("810001"))), graph)


@pytest.mark.parametrize(
    "failure", [refused(2), errors.ServerTrouble("500"), errors.EmptyBody("x"), b'{"8100'], ids=repr
)
def test_trouble_that_passes_leaves_no_picture_small(failure: object) -> None:
    graph = Graph()
    graph.on("/v27.0/", failure, {"810001": sizes("810001", 720, 2048)})
    (found,) = _complete(read(post("1", photo("810001"))), graph).posts

    assert found.media[0].renditions[0].width == 2048
    assert found.notes == ()


@pytest.mark.parametrize(
    ("failure", "raised"),
    [(refused(2), errors.ServerTrouble), (b'{"8100', errors.Truncated)],
)
def test_trouble_that_stays_has_the_page_read_again(
    failure: object, raised: type[Exception]
) -> None:
    graph = Graph()
    graph.on("/v27.0/", failure)

    with pytest.raises(raised):
        _complete(read(post("1", photo("810001"), photo("810002"))), graph)
    assert len(graph.asked) == 2  # and nothing is split for it


def test_more_than_the_api_gives_at_once_is_asked_for_in_halves_and_not_again() -> None:
    graph = Graph()
    graph.on(
        "/v27.0/",
        refused(1, message="Please reduce the amount of data you're asking for"),
        {"810001": sizes("810001", 2048)},
        {"810002": sizes("810002", 2048)},
    )
    (found,) = _complete(read(post("1", photo("810001"), photo("810002"))), graph).posts

    assert [len(m.renditions) for m in found.media] == [2, 2]
    assert len(graph.asked) == 3


def test_after_a_split_one_photo_in_trouble_is_noted() -> None:
    graph = Graph()
    graph.on("/v27.0/", refused(100, 33), {"810001": sizes("810001", 2048)}, refused(2), refused(2))
    (found,) = _complete(read(post("1", photo("810001"), photo("810002"))), graph).posts

    assert [len(m.renditions) for m in found.media] == [2, 1]
    assert "server_trouble" in found.notes[0]


def test_the_longest_rest_counts() -> None:
    graph = Graph(**_photos(1))
    graph.headers = {"X-App-Usage": '{"call_count": 99}'}
    page = read(post("1", photo("810000")), headers={"X-App-Usage": '{"call_count": 85}'})

    rest_s = _complete(page, graph).rest_s
    assert rest_s is not None
    assert page.rest_s is not None
    assert rest_s > page.rest_s


# --- albums ---


def test_an_album_cut_at_twelve_is_read_whole() -> None:
    graph = Graph()
    graph.on(ALBUM, {"data": [*_photos(14).values()]})
    page = _complete(read(post("1", _album(12), photo("820001"))), graph)

    (found,) = page.posts
    keys = [m.key for m in found.media]
    assert keys == [*map(str, range(810000, 810012)), "820001", "810012", "810013"]
    assert [m.position for m in found.media] == [*range(15)]
    assert found.media[0].renditions[0].width == 2048
    assert len(graph.asked) == 2  # the album, and the one picture beside it


@pytest.mark.parametrize("listed", [1, 11, 13])
def test_an_album_of_another_length_is_whole(listed: int) -> None:
    graph = Graph(**_photos(listed))
    _complete(read(post("1", _album(listed))), graph)

    assert all(ALBUM not in url for url in graph.asked)


def test_an_album_is_read_page_by_page_on_its_own_host() -> None:
    graph = Graph()
    following = "https://elsewhere.test" + ALBUM + "?access_token=T&after=x"
    graph.on(
        ALBUM,
        {"data": [sizes("1001", 9)], "paging": {"next": following}},
        {"data": [sizes("1002", 9)]},
    )
    page = _complete(read(post("1", _album(12))), graph)

    assert [m.key for m in page.posts[0].media][12:] == ["1001", "1002"]
    assert graph.asked[1] == f"https://graph.example.com{ALBUM}?after=x"


def test_an_album_without_end_is_left_with_a_note() -> None:
    graph = Graph()
    graph.on(ALBUM, {"data": [], "paging": {"next": f"{API}/8100390/photos?after=x"}})
    page = _complete(read(post("1", _album(12))), graph)

    assert any("more than 500" in note for note in page.posts[0].notes)
    assert page.skipped[-1].reason == "album_maybe_truncated"


def test_pictures_that_an_album_has_from_other_posts_are_left_to_them() -> None:
    graph = Graph()
    photos = [
        sizes("1001", 9, 8) | {"page_story_id": f"{PAGE}_1"},
        sizes("1002", 9, 8) | {"page_story_id": f"{PAGE}_2"},
    ]
    graph.on(ALBUM, {"data": photos})
    page = _complete(read(post("1", _album(12))), graph)

    assert [m.key for m in page.posts[0].media][12:] == ["1001"]


def test_an_albums_thumbnail_never_goes_before_the_posts_own_size() -> None:
    graph = Graph(**_photos(12))
    graph.on(ALBUM, {"data": [{"id": "810000", "picture": "https://scontent.fbimg.test/t.jpg"}]})
    page = _complete(read(post("1", _album(12))), graph)

    assert [r.width for r in page.posts[0].media[0].renditions] == [2048, 720]


def test_an_album_that_cannot_be_read_leaves_what_the_post_lists() -> None:
    graph = Graph(**_photos(12))
    graph.on(ALBUM, refused(100, 33))
    page = _complete(read(post("1", _album(12))), graph)

    (found,) = page.posts
    assert len(found.media) == 12
    assert found.media[0].renditions[0].width == 2048
    assert found.notes == (
        "its album may have more than it lists; it can't be read: gone_or_forbidden",
    )
    assert [(one.where, one.reason) for one in page.skipped] == [
        (f"{PAGE}_1", "album_maybe_truncated")
    ]


def test_an_album_in_trouble_has_a_second_chance() -> None:
    graph = Graph()
    graph.on(ALBUM, refused(2), {"data": [*_photos(14).values()]})
    (found,) = _complete(read(post("1", _album(12))), graph).posts

    assert len(found.media) == 14
    assert found.notes == ()


def test_an_album_that_is_more_than_the_api_gives_is_read_in_halves() -> None:
    graph = Graph()
    graph.on(
        ALBUM,
        refused(1, message="Please reduce the amount of data you're asking for"),
        {"data": [*_photos(14).values()]},
    )
    (found,) = _complete(read(post("1", _album(12))), graph).posts

    assert len(found.media) == 14
    assert [url.rpartition("limit=")[2] for url in graph.asked] == ["100", "50"]


def test_an_album_that_lists_nothing_is_read_instead_of_its_own_picture() -> None:
    graph = Graph()
    graph.on(ALBUM, {"data": [sizes("1001", 9, 8)]})
    page = _complete(read(post("1", _album(0))), graph)

    assert [(m.key, m.position) for m in page.posts[0].media] == [("1001", 0)]


def test_an_album_that_lists_nothing_and_cannot_be_read_leaves_its_own_picture() -> None:
    graph = Graph()
    graph.on(ALBUM, refused(10))
    page = _complete(read(post("1", _album(0))), graph)

    assert [(m.key, m.ref) for m in page.posts[0].media] == [("8100390_n", None)]


def test_the_ref_that_is_kept_names_the_photo_alone() -> None:
    graph = Graph()
    graph.on(ALBUM, {"data": [*_photos(12).values()]})
    page = _complete(read(post("1", _album(12))), graph)

    assert page.posts[0].media[3].ref == f'{{"node": "{API}/810003", "pick": "image"}}'
