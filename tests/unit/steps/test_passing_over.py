from __future__ import annotations

import pytest

from core import errors
from core.sources import adapter
from core.steps.passing_over import passed_over
from core.steps.trigger import find_feed
from tests.support.pages import page_input
from tests.support.reading import ADDRESS, Reading
from tests.support.tasks import a_discover_task

INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>https://site.example/a.xml</loc></sitemap>
<sitemap><loc>https://site.example/b.xml</loc></sitemap></sitemapindex>"""
CURSOR = adapter("sitemap").parse(page_input(INDEX)).cursor


def without(error, *, attempts=0, name="sitemap", cursor=CURSOR):
    task = a_discover_task(adapter=name, cursor=cursor, page=2)
    return passed_over(task.model_copy(update={"attempts": attempts}), task.payload, error)


def test_a_page_that_is_too_large_is_passed_over_at_once():
    page = without(errors.TooLarge("64 MiB"))

    assert [one.reason for one in page.skipped] == ["too_large"]
    assert "b.xml" in page.cursor


def test_what_may_pass_is_tried_as_often_as_anything():
    with pytest.raises(errors.ServerTrouble):
        without(errors.ServerTrouble("500"), attempts=3)

    assert "b.xml" in without(errors.ServerTrouble("500"), attempts=4).cursor


@pytest.mark.parametrize(
    "error", [errors.Throttled("429"), errors.SignedOut("401"), errors.StorageDown("full")]
)
def test_what_concerns_more_than_a_page_is_raised(error):
    with pytest.raises(type(error)):
        without(error, attempts=4)


def test_a_feed_that_is_no_tree_ends_with_its_page():
    with pytest.raises(errors.Gone):
        without(errors.Gone("404"), name="rss", cursor="https://site.example/2")


def test_the_walk_of_a_tree_goes_on_without_the_page_and_says_so(tmp_path):
    reading = Reading(tmp_path)
    images = "http://www.google.com/schemas/sitemap-image/1.1"
    leaf = (
        f'<urlset xmlns:image="{images}"><url><loc>https://site.example/b</loc><image:image>'
        "<image:loc>https://site.example/b.jpg</image:loc></image:image></url></urlset>"
    )
    reading.site |= {ADDRESS: INDEX.encode(), "https://site.example/b.xml": leaf.encode()}

    reading.crawl()

    assert reading.endings() == ["last_page"]
    pages = reading.store.walks.pages
    walk = reading.store.walks.newest(find_feed(reading.settings, ADDRESS).record.feed)
    skipped = [one.reason for page in pages(walk.feed, walk.walk) for one in page.skipped]
    assert skipped == ["gone"]
    reading.store.close()
