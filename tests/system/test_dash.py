"""DASH presentations from a list of addresses to files, in both modes: what was filed plays as the
source's own pieces do; what is protected or live is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.sample_site.site import MIMES
from tests.support import dash
from tests.support.command import FAST, LOOPBACK, checked, headrace, told
from tests.support.rendered import Frames, Rendered, frames
from tests.support.site import Site
from tests.support.workers import Workers

pytestmark = pytest.mark.system

MPD = "application/dash+xml"
CUTS = {
    "timeline": ("-use_template", 1, "-use_timeline", 1),
    "ranges": ("-single_file", 1, "-use_template", 0),
}
INDEXED = ("-single_file", 1, "-use_template", 0, "-global_sidx", 1)


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory, rendered: Rendered) -> Path:
    """The same film, cut in several ways: a folder each."""
    root = tmp_path_factory.mktemp("dash")
    for name, options in (CUTS | {"indexed": INDEXED}).items():
        dash.cut(rendered.film, root / name, *options)
    return root


@pytest.fixture
def site(cuts: Path) -> Iterator[Site]:
    with Site() as site:
        for path in sorted(cuts.glob("*/*")):
            mime = MPD if path.suffix == ".mpd" else MIMES.get(path.suffix, "video/mp4")
            address = f"/{path.relative_to(cuts).as_posix()}"
            site.serve(address, path.read_bytes(), content_type=mime, etag=f'"{path.name}"')
        yield site


def listed(site: Site, *videos: str) -> str:
    lines = "".join(f"{site.url(f'/{video}')}\n" for video in videos)
    site.serve("/list.txt", lines.encode(), content_type="text/plain")
    return site.url("/list.txt")


def filed(store: Path) -> list[Frames]:
    """What a player shows of each file in the store."""
    return [frames(path) for path in sorted((store / "objects").rglob("*")) if path.is_file()]


def played(cuts: Path, rendered: Rendered) -> Frames:
    """What a player shows of the source's own two files."""
    of = [(cuts / "ranges" / f"index-stream{stream}.mp4").read_bytes() for stream in (0, 1)]
    both = [rendered.frames_of("source.mp4", content) for content in of]
    return Frames(both[0].video, both[1].audio)


def test_presentations_end_in_files_that_play_as_their_pieces_do(
    site: Site, cuts: Path, rendered: Rendered, tmp_path: Path
):
    videos = [f"{name}/index.mpd" for name in CUTS]
    address = listed(site, *videos)

    run = headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, "--json", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert told(run)["got"] == 2
    assert set(filed(tmp_path / "store")) == {played(cuts, rendered)}
    assert checked(tmp_path / "store").returncode == 0
    assert len(site.asked("/timeline/index.mpd")) == 1


def test_a_presentations_own_address_is_crawled(
    site: Site, cuts: Path, rendered: Rendered, tmp_path: Path
):
    address = site.url("/ranges/index.mpd")

    run = headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, "--json", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert filed(tmp_path / "store") == [played(cuts, rendered)]


def parts_of(cuts: Path, clock_s: int) -> str:
    """The sets of the film as two files, of which a period shows what plays from `clock_s` on."""
    sets = []
    for number, (kind, codecs) in enumerate((("video", "avc1.4d400b"), ("audio", "mp4a.40.2"))):
        name = f"index-stream{number}.mp4"
        content = (cuts / "indexed" / name).read_bytes()
        at = content.index(b"sidx") - 4
        end = at + int.from_bytes(content[at : at + 4], "big") - 1
        base = f'<SegmentBase indexRange="{at}-{end}" presentationTimeOffset="{clock_s}"/>'
        own = dash.representation(f"<BaseURL>{name}</BaseURL>{base}")
        sets.append(dash.adaptation(own, more=f'mimeType="{kind}/mp4" codecs="{codecs}"'))
    return "".join(sets)


def test_a_file_of_which_periods_show_parts_is_taken_apart_by_its_index(
    site: Site, cuts: Path, rendered: Rendered, tmp_path: Path
):
    shown = (dash.period(parts_of(cuts, at), more='duration="PT2S"') for at in (2, 0))
    site.serve("/indexed/swapped.mpd", dash.mpd(*shown, total="PT4S"), content_type=MPD)
    address = site.url("/indexed/swapped.mpd")

    run = headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, "--json", cwd=tmp_path)
    [file] = filed(tmp_path / "store")
    whole = played(cuts, rendered).video

    assert run.returncode == 0, run.stderr
    assert file.video == whole[len(whole) // 2 :] + whole[: len(whole) // 2]
    assert all(seen.headers["Range"] for seen in site.asked("/indexed/index-stream0.mp4"))


def test_what_is_live_or_protected_is_refused_by_name(site: Site, tmp_path: Path):
    for name in ("drm.mpd", "dynamic_live.mpd"):
        site.serve(f"/{name}", (dash.FOLDER / name).read_bytes(), content_type=MPD)
    address = listed(site, "drm.mpd", "dynamic_live.mpd")

    run = headrace("crawl", address, "--to", "store", *LOOPBACK, *FAST, "--json", cwd=tmp_path)
    reasons = {media["reason"] for media in told(run)["media"]}

    assert run.returncode == 1
    assert reasons == {"drm_unsupported", "live_manifest"}


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_workers_file_the_same_frames(workers: Workers, site: Site, cuts: Path, rendered: Rendered):
    workers.start()

    workers.headrace("submit", listed(site, "ranges/index.mpd"))
    workers.wait_for(done=1)

    assert filed(workers.store) == [played(cuts, rendered)]
    assert workers.letters() == []
