"""ffmpeg reads what it is given and nothing else; its failures are told by whose fault they are."""

from __future__ import annotations

import stat
from dataclasses import replace

import pytest

from core.clock import SystemClock
from core.errors import Malformed, Misconfigured, StorageDown, Unexpected
from core.video.ffmpeg import Ffmpeg, Input
from core.video.probe import Prober
from tests.support.assembling import Film, nothing


@pytest.fixture
def tool(rendered):
    return Ffmpeg.find()


def remux(tool, folder, file):
    arguments = ["-loglevel", "error", *file.options(), "-i", file.name, "-c", "copy"]
    return tool.run([*arguments, "-f", "mp4", "out.mp4"], folder, nothing, 10_000_000)


def fake(folder, *lines):
    """A program that stands for ffmpeg."""
    path = folder / "ffmpeg"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Ffmpeg(path, None, "ffmpeg fake", SystemClock())


def test_the_one_that_is_found_tells_its_version(tool):
    assert tool.version.startswith("ffmpeg ")
    assert len(tool.version) > len("ffmpeg ")


def test_without_one_the_settings_are_at_fault_and_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)

    with pytest.raises(Misconfigured, match="apt-get install ffmpeg"):
        Ffmpeg.find()


def test_one_that_does_not_run_is_a_matter_of_settings(tmp_path):
    broken = fake(tmp_path, "echo missing library >&2", "exit 127")

    with pytest.raises(Misconfigured, match="does not run: missing library"):
        Ffmpeg.at(broken.ffmpeg, None, SystemClock())


# --- it reads nothing else ---


def test_a_segment_that_is_a_manifest_of_other_files_leads_nowhere(tool, rendered, tmp_path):
    (tmp_path / "secret.ts").write_bytes(rendered.ts.segments[0])
    (tmp_path / "in").write_text("#EXTM3U\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n")

    with pytest.raises(Malformed):
        remux(tool, tmp_path, Input("in", "mpegts", 100))


def test_a_list_of_files_elsewhere_is_refused(tool, rendered, tmp_path):
    outside = rendered.write("outside.ts", rendered.ts.segments[0])
    (tmp_path / "in").write_text(f"ffconcat version 1.0\nfile {outside}\n")

    with pytest.raises(Malformed, match="Unsafe file name"):
        remux(tool, tmp_path, Input("in", "concat", 100, ("mpegts",)))


def test_a_listed_file_of_another_format_is_refused(tool, rendered, tmp_path):
    (tmp_path / "secret.ts").write_bytes(rendered.ts.segments[0])
    (tmp_path / "inner").write_text("#EXTM3U\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n")
    (tmp_path / "in").write_text("ffconcat version 1.0\nfile inner\n")

    with pytest.raises(Malformed):
        remux(tool, tmp_path, Input("in", "concat", 100, ("mpegts",)))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "concat:a|b", "data:,x", "pipe:0"])
def test_no_protocol_but_file_is_opened(tool, tmp_path, address):
    with pytest.raises(Malformed, match=r"not on whitelist|Protocol not found|Invalid argument"):
        remux(tool, tmp_path, Input(address, "mpegts", 100))


# --- whose fault ---


def test_what_it_can_not_read_is_told_in_its_last_words(tool, tmp_path):
    (tmp_path / "in").write_bytes(b"no film at all" * 100)

    with pytest.raises(Malformed, match=r"can't read or join the video: .*Invalid data"):
        remux(tool, tmp_path, Input("in", "mov", 100))


def test_a_full_disk_is_trouble_with_the_store(tmp_path):
    full = fake(
        tmp_path, "echo 'av_interleaved_write_frame(): No space left on device' >&2", "exit 1"
    )

    with pytest.raises(StorageDown, match="free space"):
        full.run([], tmp_path, nothing)


def test_a_disk_that_fills_up_with_the_last_write_is_trouble_with_the_store(tmp_path):
    full = fake(tmp_path, "echo 'Error writing trailer: No space left on device' >&2", "exit 0")

    with pytest.raises(StorageDown, match="free space"):
        full.run([], tmp_path, nothing)


def test_a_run_past_its_output_limit_names_the_limit(tmp_path):
    much = fake(tmp_path, "kill -XFSZ $$")

    with pytest.raises(Malformed, match="output limit") as caught:
        much.run([], tmp_path, nothing)
    assert caught.value.reason == "ffmpeg_limit"


def test_one_that_somebody_killed_is_tried_again(tmp_path):
    with pytest.raises(Unexpected, match="ended by SIGKILL"):
        fake(tmp_path, "kill -KILL $$").run([], tmp_path, nothing)


# --- without ffprobe ---


def test_without_ffprobe_the_same_streams_are_seen(tool, rendered, tmp_path):
    file = Input("film.mp4", "mov", 100)
    (tmp_path / file.name).write_bytes(rendered.film.read_bytes())

    by_words = Prober(replace(tool, ffprobe=None), tmp_path, nothing).look(file)
    by_probe = Prober(tool, tmp_path, nothing).look(file)

    def seen(probed):
        return [(s.index, s.kind, s.codec, s.width, s.height, s.rate_hz) for s in probed.streams]

    assert seen(by_words) == seen(by_probe)
    assert by_words.start_s == pytest.approx(by_probe.start_s, abs=0.01)


def test_without_ffprobe_a_video_is_assembled_all_the_same(tool, rendered, tmp_path):
    film = Film(tmp_path)
    film.track(*film.segments(rendered.ts), codecs="avc1.64000a,mp4a.40.2")

    made, bare = film.assembled(tool), film.assembled(replace(tool, ffprobe=None))

    assert made.path.read_bytes() == bare.path.read_bytes()
    assert bare.duration_s == pytest.approx(4.0, abs=0.3)


# --- many files ---


def several(rendered, folder, count: int = 30) -> list[Input]:
    """More than are looked at in one run, of three kinds."""
    kinds = [
        ("mpegts", rendered.ts.joined()),
        ("mpegts", rendered.wide_ts.segments[2]),
        ("mov", rendered.sound_fmp4.joined()),
    ]
    files = []
    for number in range(count):
        demuxer, content = kinds[number % 3]
        (folder / f"file{number}").write_bytes(content)
        files.append(Input(f"file{number}", demuxer, len(content)))
    return files


def test_many_files_are_seen_as_each_alone(tool, rendered, tmp_path):
    files = several(rendered, tmp_path)
    prober = Prober(tool, tmp_path, nothing)

    together = prober.look_all(files)

    def seen(probed):
        streams = [(s.index, s.kind, s.codec, s.width, s.rate_hz) for s in probed.streams]
        return streams, round(probed.start_s, 3)

    alone = [prober.look(file) for file in files[:3]] * 10
    assert list(map(seen, together)) == list(map(seen, alone))


def test_many_files_take_few_runs(tool, rendered, tmp_path):
    counted = replace(tool, ffprobe=tmp_path / "not-there")

    assert len(Prober(counted, tmp_path, nothing).look_all(several(rendered, tmp_path))) == 30


def test_one_of_many_that_cant_be_read_is_looked_at_alone(tool, rendered, tmp_path):
    files = several(rendered, tmp_path, 5)
    (tmp_path / "file4").write_bytes(b"no film at all" * 20)

    with pytest.raises(Malformed):
        Prober(tool, tmp_path, nothing).look_all(files)
