"""A long video for the benchmarks: MPEG-TS fragments of one second that play one after the other,
each filled up to its size with the packets that the format has for filling."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PACKET_BYTES = 188
_NULL_PACKET = b"\x47\x1f\xff\x10" + b"\xff" * (PACKET_BYTES - 4)
_PICTURE = "testsrc=size=64x36:rate=1"  # one picture a second: hours are rendered in seconds
_OPTIONS = (
    "-c:v libx264 -preset ultrafast -g 1 -pix_fmt yuv420p -f hls -hls_time 1 "
    "-hls_playlist_type vod -hls_list_size 0"
)


class NoFfmpeg(Exception):
    """Nothing here renders a video."""


def render(folder: Path, fragments: int) -> None:
    """Write `0.ts`, `1.ts`, ... into `folder`. Raises `NoFfmpeg`."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise NoFfmpeg("ffmpeg is missing (on Debian: apt-get install ffmpeg)")
    folder.mkdir(parents=True)
    command = [ffmpeg, "-v", "error", "-f", "lavfi", "-t", str(fragments), "-i", _PICTURE]
    command += [*_OPTIONS.split(), "-hls_segment_filename", str(folder / "%d.ts")]
    subprocess.run([*command, str(folder / "index.m3u8")], check=True, stdin=subprocess.DEVNULL)


class Film:
    """The fragments in `folder`, each of `size_bytes` or a packet less."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self._parts = [
            file.read_bytes()
            for file in sorted(folder.glob("*.ts"), key=lambda file: int(file.stem))
        ]
        largest = max(map(len, self._parts))
        if size_bytes < largest:
            raise SystemExit(f"--bytes: the largest fragment has {largest} without any filling")
        self._packets = size_bytes // PACKET_BYTES
        self._fill = memoryview(_NULL_PACKET * self._packets)

    def __len__(self) -> int:
        return len(self._parts)

    def fragment(self, number: int) -> tuple[bytes, memoryview]:
        """What plays, and what fills."""
        part = self._parts[number]
        return part, self._fill[: self._packets * PACKET_BYTES - len(part)]

    def manifest(self, fragments: int) -> bytes:
        """The first `fragments` of it, by addresses beside the manifest's own."""
        lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1"]
        for number in range(fragments):
            lines += ["#EXTINF:1.0,", f"{number}.ts"]
        return "\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode()
