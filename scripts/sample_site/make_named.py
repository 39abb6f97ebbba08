"""Draws what the sample site's three named sources show: invented pictures, and films in every form
that those sources give them. They are kept in the project, so nobody needs this to run it; it needs
Pillow and imageio-ffmpeg. Run it as `python -m scripts.sample_site.make_named`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import imageio_ffmpeg
from PIL import Image

from scripts.sample_site.make_media import SKIES, Size, view, wheel

GUARDED = Path(__file__).parent / "guarded"
_SAME_BYTES = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact")
_PICTURE = "-c:v libx264 -pix_fmt yuv420p -crf 34 -g 25 -sc_threshold 0"
_SOUND = "-c:a aac -b:a 32k -ac 1"
_WHOLE = "-movflags +faststart"
_IN_FRAGMENTS = "-movflags +frag_keyframe+empty_moov+default_base_moof -f mp4"


def main() -> None:
    """Everything, into guarded/."""
    for source in ("facebook", "weibo", "bilibili"):
        (GUARDED / source).mkdir(parents=True, exist_ok=True)
    facebook()
    weibo()
    bilibili()


def facebook() -> None:
    """Photos in two sizes and a film."""
    for seed, name in enumerate(["gate", "loft", "millrace"], 100):
        for width in (160, 640):
            photo(f"facebook/{name}-{width}.jpg", seed, (width, width * 2 // 3))
    film("facebook/heron.mp4", "gradients=size=160x90:rate=25:seed=3:speed=0.04", 2, _WHOLE)


def weibo() -> None:
    """A walk in twelve pictures, a live photo, a moving picture and a film."""
    for number in range(1, 13):
        photo(f"weibo/walk{number:02}.jpg", 120 + number, (240, 160))
    photo("weibo/pinned.jpg", 140, (320, 212))
    photo("weibo/lantern.jpg", 141, (320, 212))
    photo("weibo/small.jpg", 142, (60, 40))
    film("weibo/lantern.mov", "gradients=size=160x106:rate=25:seed=5:speed=0.02", 1, _WHOLE)
    film("weibo/sluice.mp4", "cellauto=size=160x90:rate=25:rule=30:random_seed=9", 2, _WHOLE)
    turning("weibo/wheel.gif", (120, 120))


def bilibili() -> None:
    """Pictures, one video as a file of pictures and a file of sound, one in two parts."""
    photo("bilibili/notice.jpg", 160, (320, 212))
    turning("bilibili/vane.gif", (96, 96))
    picture = "mandelbrot=size=160x90:rate=25:start_scale=1.5:end_scale=1.1"
    film("bilibili/tide-picture.m4s", picture, 3, _IN_FRAGMENTS)
    sound = [*_SOUND.split(), *_IN_FRAGMENTS.split(), "-frag_duration", "1000000"]
    _render([_tone(262, 3)], [*sound, str(GUARDED / "bilibili/tide-sound.m4s")])
    for number, seed in ((1, 21), (2, 22)):
        picture = f"gradients=size=160x90:rate=25:seed={seed}:speed=0.03:d=2"
        options = [*_PICTURE.split(), *_SOUND.split(), "-ar", "44100", "-f", "flv"]
        path = str(GUARDED / f"bilibili/bank-{number}.flv")
        _render([picture, _tone(200 * number, 2)], ["-t", "2", *options, path])


def photo(name: str, seed: int, size: Size) -> None:
    """A landscape."""
    mood = list(SKIES)[seed % len(SKIES)]
    large = view(seed, mood)
    large.resize(size, Image.Resampling.LANCZOS).save(GUARDED / name, quality=70)


def turning(name: str, size: Size) -> None:
    """An endless GIF of a wheel."""
    first, *rest = [wheel(turn / 48, size).quantize(16) for turn in range(6)]
    first.save(GUARDED / name, save_all=True, append_images=rest, duration=80, loop=0)


def film(name: str, picture: str, seconds: int, form: str) -> None:
    """Without sound."""
    options = ["-t", str(seconds), "-an", *_PICTURE.split(), *form.split()]
    _render([picture], [*options, str(GUARDED / name)])


def _tone(pitch_hz: int, seconds: int) -> str:
    return f"sine=frequency={pitch_hz}:sample_rate=44100:duration={seconds}"


def _render(sources: list[str], options: list[str]) -> None:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    for source in sources:
        command += ["-f", "lavfi", "-i", source]
    subprocess.run([*command, *_SAME_BYTES, *options], check=True)


if __name__ == "__main__":
    main()
