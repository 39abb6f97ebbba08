"""Small films made with ffmpeg once a session, cut as HLS does, and their frames as told by a
decoder.

Without ffmpeg a laptop skips these tests; with CI set they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

SECONDS = 4  # of each film, one a segment
_X264 = ("-c:v", "libx264", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-bf", "2")
_ENCODING = (*_X264, "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "64k")
_HLS = ("-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0")


@dataclass(frozen=True)
class Frames:
    """A decoder's word on each frame, in order."""

    video: tuple[str, ...]
    audio: tuple[str, ...]

    def __add__(self, other: Frames) -> Frames:
        return Frames(self.video + other.video, self.audio + other.audio)


@dataclass(frozen=True)
class Cut:
    """A film in segments."""

    segments: tuple[bytes, ...]
    init: bytes | None = None

    def joined(self, segments: Sequence[int] | None = None) -> bytes:
        """The bytes of these segments, or of all, as they would play."""
        chosen = range(len(self.segments)) if segments is None else segments
        return (self.init or b"") + b"".join(self.segments[number] for number in chosen)


class Rendered:
    """Films of four seconds at 25 pictures a second with a tone, each made when it is first asked
    for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def film(self) -> Path:
        """160x90, sound at 44,100 Hz."""
        return self._encode("film", "testsrc=size=160x90:rate=25", "sine=frequency=440")

    @cached_property
    def other(self) -> Path:
        """Another of the same size."""
        return self._encode("other", "testsrc2=size=160x90:rate=25", "sine=frequency=880")

    @cached_property
    def wide(self) -> Path:
        """One of another size."""
        return self._encode("wide", "testsrc2=size=320x180:rate=25", "sine=frequency=660")

    @cached_property
    def ts(self) -> Cut:
        """The film in transport streams, sound and picture together."""
        return self._cut_ts(self.film, "both")

    @cached_property
    def other_ts(self) -> Cut:
        return self._cut_ts(self.other, "other")

    @cached_property
    def wide_ts(self) -> Cut:
        return self._cut_ts(self.wide, "wide")

    @cached_property
    def picture_ts(self) -> Cut:
        """Its pictures alone."""
        return self._cut_ts(self.film, "picture", "-an")

    @cached_property
    def sound_ts(self) -> Cut:
        """Its sound alone."""
        return self._cut_ts(self.film, "sound", "-vn")

    @cached_property
    def fmp4(self) -> Cut:
        """The film in fMP4, sound and picture together."""
        return self._cut_fmp4(self.film, "both")

    @cached_property
    def other_fmp4(self) -> Cut:
        return self._cut_fmp4(self.other, "other")

    @cached_property
    def wide_fmp4(self) -> Cut:
        return self._cut_fmp4(self.wide, "wide")

    @cached_property
    def picture_fmp4(self) -> Cut:
        return self._cut_fmp4(self.film, "picture", "-an")

    @cached_property
    def sound_fmp4(self) -> Cut:
        return self._cut_fmp4(self.film, "sound", "-vn")

    @cached_property
    def aac(self) -> Cut:
        """Its sound without a container, each segment behind an ID3 tag."""
        segments = []
        for second in range(SECONDS):
            path = self._folder / f"sound-{second}.aac"
            part = ("-ss", str(second), "-t", "1")
            ffmpeg("-i", self.film, *part, "-vn", "-c", "copy", "-f", "adts", path)
            segments.append(id3_timestamp(1.48 + second) + path.read_bytes())
        return Cut(tuple(segments))

    def write(self, name: str, content: bytes) -> Path:
        """A file in the session's folder."""
        path = self._folder / name
        path.write_bytes(content)
        return path

    def frames_of(self, name: str, content: bytes) -> Frames:
        """The frames of bytes that play on their own."""
        return frames(self.write(name, content))

    def _encode(self, name: str, picture: str, tone: str) -> Path:
        path = self._folder / f"{name}.mp4"
        sources = (
            ("-f", "lavfi", "-i", f"{picture}:duration={SECONDS}"),
            ("-f", "lavfi", "-i", f"{tone}:duration={SECONDS}:sample_rate=44100"),
        )
        ffmpeg(*sources[0], *sources[1], *_ENCODING, "-fflags", "+bitexact", path)
        return path

    def _cut_ts(self, film: Path, name: str, *only: str) -> Cut:
        folder = self._folder / f"{name}-ts"
        folder.mkdir()
        pattern = ("-hls_segment_filename", folder / "%03d.ts")
        ffmpeg("-i", film, *only, *_HLS, *pattern, folder / "index.m3u8")
        return Cut(tuple(path.read_bytes() for path in sorted(folder.glob("*.ts"))))

    def _cut_fmp4(self, film: Path, name: str, *only: str) -> Cut:
        folder = self._folder / f"{name}-fmp4"
        folder.mkdir()
        pattern = ("-hls_segment_type", "fmp4", "-hls_segment_filename", folder / "%03d.m4s")
        ffmpeg("-i", film, *only, *_HLS, *pattern, folder / "index.m3u8")
        segments = tuple(path.read_bytes() for path in sorted(folder.glob("*.m4s")))
        return Cut(segments, (folder / "init.mp4").read_bytes())


def ffmpeg(*arguments: object) -> bytes:
    """Run it; what it writes to stdout."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


def frames(path: Path) -> Frames:
    """The MD5 of each decoded frame."""
    return Frames(_frames(path, "v:0"), _frames(path, "a:0"))


def _frames(path: Path, stream: str) -> tuple[str, ...]:
    told = ffmpeg("-i", path, "-map", f"0:{stream}?", "-fps_mode", "passthrough", *_TO_STDOUT)
    lines = (line for line in told.decode().splitlines() if not line.startswith("#"))
    return tuple(line.rpartition(",")[2].strip() for line in lines)


_TO_STDOUT = ("-f", "framemd5", "-")


def encrypt(plain: bytes, key: bytes, iv: int | bytes) -> bytes:
    """AES-128-CBC with PKCS#7 padding; a number is the IV that a media sequence number gives."""
    padder = PKCS7(128).padder()
    padded = padder.update(plain) + padder.finalize()
    given = iv if isinstance(iv, bytes) else iv.to_bytes(16, "big")
    encryptor = Cipher(AES128(key), CBC(given)).encryptor()
    return encryptor.update(padded) + encryptor.finalize()


def id3_timestamp(seconds: float) -> bytes:
    """The tag by which packed sound tells when it plays."""
    owner = b"com.apple.streaming.transportStreamTimestamp\0"
    private = owner + int(seconds * 90_000).to_bytes(8, "big")
    frame = b"PRIV" + len(private).to_bytes(4, "big") + b"\0\0" + private
    return b"ID3\x04\0\0" + bytes([0, 0, len(frame) >> 7, len(frame) & 0x7F]) + frame


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The session's films."""
    if shutil.which("ffmpeg") is None:
        missing = "ffmpeg renders the tests' videos and is not installed: apt-get install ffmpeg"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return Rendered(tmp_path_factory.mktemp("rendered"))
