"""Renders the sample site's HLS videos anew: one clear, one under AES-128, one whose sound lies in
a playlist of its own. They are kept in the project, so nobody needs this to run it; it needs
imageio-ffmpeg, which Headrace itself can do without."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MEDIA = Path(__file__).parent / "media"
SECONDS = 4
_SAME_BYTES = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact")
# One picture a second begins anew, so that each segment is a second long.
_PICTURE = "-c:v libx264 -pix_fmt yuv420p -crf 33 -g 25 -sc_threshold 0"
_SOUND = ("-c:a", "aac", "-b:a", "32k", "-ac", "1")
_HLS = ("-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_list_size", "0")


def main() -> None:
    """Everything, into media/."""
    clear(_new_folder("flood"))
    encrypted(_new_folder("night"))
    separate(_new_folder("brook"))


def clear(folder: Path) -> None:
    """Transport stream segments with picture and sound together."""
    picture = "gradients=size=160x90:rate=25:seed=11:speed=0.03"
    options = [
        *_PICTURE.split(),
        *_SOUND,
        *_HLS,
        "-hls_segment_filename",
        str(folder / "flood-%d.ts"),
    ]
    _render([picture, _tone(330)], [*options, str(folder / "index.m3u8")])


def encrypted(folder: Path) -> None:
    """AES-128 without an IV: each segment's own number is its IV, and the numbers begin at 7."""
    key = hashlib.sha256(b"the key of the sample site").digest()[:16]
    (folder / "night.key").write_bytes(key)
    picture = "mandelbrot=size=160x90:rate=25:start_scale=2:end_scale=0.9"
    options = [*_PICTURE.split(), *_SOUND, *_HLS, "-start_number", "7"]
    options += ["-hls_segment_filename", str(folder / "night-%d.ts")]
    index = folder / "index.m3u8"
    _render([picture, _tone(220)], [*options, str(index)])
    for number in range(7, 7 + SECONDS):
        _encrypt(folder / f"night-{number}.ts", key, iv=number.to_bytes(16, "big"))
    words = '#EXT-X-KEY:METHOD=AES-128,URI="night.key"\n#EXTINF'
    index.write_text(index.read_text().replace("#EXTINF", words, 1))


def _encrypt(file: Path, key: bytes, iv: bytes) -> None:
    """AES-128-CBC with PKCS#7 padding."""
    padder = padding.PKCS7(128).padder()
    padded = padder.update(file.read_bytes()) + padder.finalize()
    cipher = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    file.write_bytes(cipher.update(padded) + cipher.finalize())


def separate(folder: Path) -> None:
    """Two sizes of picture in fragmented MP4, and one sound for both in a group of its own."""
    picture = "cellauto=size=160x90:rate=25:rule=18:random_seed=5"
    sizes = ["-map", "0:v", "-map", "0:v", "-map", "1:a", "-s:v:1", "80x46"]
    groups = "v:0,agroup:water,name:large v:1,agroup:water,name:small a:0,agroup:water,default:yes,"
    options = [*sizes, *_PICTURE.split(), "-b:v:0", "120k", "-b:v:1", "40k", *_SOUND, *_HLS]
    options += ["-hls_segment_type", "fmp4", "-var_stream_map", f"{groups}language:en,name:water"]
    options += ["-master_pl_name", "brook.m3u8", "-hls_fmp4_init_filename", "%v-init.mp4"]
    options += ["-hls_segment_filename", str(folder / "%v-%d.m4s"), str(folder / "%v.m3u8")]
    _render([picture, _tone(440)], options)
    master = folder / "brook.m3u8"
    master.write_text(master.read_text().replace("audio_2", "Water"))


def _tone(pitch_hz: int) -> str:
    return f"sine=frequency={pitch_hz}:sample_rate=44100:beep_factor=2"


def _render(sources: Sequence[str], options: Sequence[str]) -> None:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    for source in sources:
        command += ["-f", "lavfi", "-t", str(SECONDS), "-i", source]
    subprocess.run([*command, *_SAME_BYTES, *options], check=True)


def _new_folder(name: str) -> Path:
    folder = MEDIA / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main()
