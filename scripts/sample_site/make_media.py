"""Draws the sample site's files anew: invented landscapes, a wheel and a stream. They are kept in
the project, so nobody needs this to run it; it needs Pillow and imageio-ffmpeg, which Headrace
itself never uses."""

from __future__ import annotations

import math
import random
import subprocess
from pathlib import Path

import imageio_ffmpeg
from PIL import Image, ImageDraw, ImageFilter

MEDIA = Path(__file__).parent / "media"
Size = tuple[int, int]
Colour = tuple[int, int, int]

SKIES: dict[str, tuple[Colour, Colour]] = {
    "dawn": ((52, 60, 110), (247, 178, 120)),
    "day": ((70, 140, 205), (214, 234, 246)),
    "dusk": ((38, 28, 66), (214, 110, 92)),
    "night": ((8, 12, 34), (36, 52, 96)),
}


def sky(size: Size, top: Colour, bottom: Colour) -> Image.Image:
    """A vertical gradient with the grain of a photograph."""
    column = Image.new("RGB", (1, 256))
    for y in range(256):
        mixed = [round(a + (b - a) * y / 255) for a, b in zip(top, bottom, strict=True)]
        column.putpixel((0, y), (mixed[0], mixed[1], mixed[2]))
    grain = Image.effect_noise(size, 24).convert("RGB")
    return Image.blend(column.resize(size, Image.Resampling.BILINEAR), grain, 0.06)


def view(seed: int, mood: str, size: Size = (960, 640)) -> Image.Image:
    """Hills behind hills under a sun or a moon; the seed decides where they stand."""
    rng = random.Random(seed)
    width, height = size
    picture = sky(size, *SKIES[mood])
    draw = ImageDraw.Draw(picture)
    x, y, radius = rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.4) * height, width * 0.05
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(255, 236, 196))
    for depth in range(4):
        base, waves = height * (0.48 + 0.13 * depth), rng.uniform(1.5, 4.0)
        phase, shade = rng.uniform(0, 6.3), 96 - 20 * depth
        ridge = [
            (px, base + height * 0.05 * math.sin(px / width * waves * 6.283 + phase))
            for px in range(0, width + 8, 8)
        ]
        draw.polygon([*ridge, (width, height), (0, height)], fill=(shade // 2, shade, shade // 2))
    return picture.filter(ImageFilter.SMOOTH)


def wheel(turn: float, size: Size = (240, 240)) -> Image.Image:
    """A water wheel, turned by `turn` of a full turn."""
    picture = Image.new("RGB", size, (206, 224, 232))
    draw = ImageDraw.Draw(picture)
    middle, radius = size[0] / 2, size[0] * 0.42
    for spoke in range(8):
        angle = (spoke / 8 + turn) * math.tau
        tip = (middle + radius * math.cos(angle), middle + radius * math.sin(angle))
        draw.line((middle, middle, *tip), fill=(96, 62, 32), width=7)
        draw.rectangle((tip[0] - 13, tip[1] - 7, tip[0] + 13, tip[1] + 7), fill=(128, 84, 44))
    rim = (middle - radius, middle - radius, middle + radius, middle + radius)
    draw.ellipse(rim, outline=(72, 46, 24), width=6)
    draw.rectangle((0, size[1] - 26, *size), fill=(74, 124, 164))
    return picture


def animation(name: str, frames: list[Image.Image]) -> None:
    """An endless GIF."""
    first, *rest = [frame.quantize(48) for frame in frames]
    first.save(MEDIA / name, save_all=True, append_images=rest, duration=80, loop=0)


def film(name: str, source: str) -> None:
    """Two seconds of H.264 from one of ffmpeg's own test pictures, its index at the front."""
    options = "-t 2 -c:v libx264 -pix_fmt yuv420p -crf 30 -movflags +faststart"
    same_bytes = "-fflags +bitexact -flags:v +bitexact"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-f", "lavfi", "-i", source]
    command += [*options.split(), *same_bytes.split(), str(MEDIA / name)]
    subprocess.run(command, check=True)


def views() -> None:
    """The landscapes, each in the form that its name tells."""
    moods = list(SKIES)
    for seed, name in enumerate(
        ["dawn.jpg", "stones.jpg", "lantern.jpg", "path-1.jpg", "path-2.jpg", "path-4.jpg"]
    ):
        view(seed, moods[seed % 4]).save(MEDIA / name, quality=84, progressive=seed % 2 == 1)
    for seed, name in enumerate(["weir-left.png", "weir-right.png", "sketch-1.png", "path-3.png"]):
        view(20 + seed, moods[seed % 4], (480, 320)).quantize(96).save(MEDIA / name, optimize=True)
    for seed, name in enumerate(["reeds.webp", "moon.webp", "ferns.webp"]):
        view(40 + seed, moods[3 - seed], (800, 600)).save(MEDIA / name, quality=72)


def renditions() -> None:
    """The same picture in several sizes, and the small ones that stand for others."""
    for name, seed, widths in [("mill", 60, (480, 960, 1440)), ("grain", 61, (400, 1200))]:
        picture = view(seed, "day", (1440, 960))
        for width in widths:
            picture.resize((width, width * 2 // 3)).save(MEDIA / f"{name}-{width}.jpg", quality=82)
    for name, seed in [("dawn", 0), ("race", 70)]:
        view(seed, "dawn", (160, 106)).save(MEDIA / f"{name}-thumbnail.jpg", quality=70)


def main() -> None:
    """Everything, into media/."""
    MEDIA.mkdir(exist_ok=True)
    views()
    renditions()
    animation("wheel.gif", [wheel(turn / 96) for turn in range(12)])
    animation("birds.gif", [view(80, "day", (200, 132)).rotate(turn) for turn in range(-4, 5)])
    film("race.mp4", "mandelbrot=size=320x240:rate=25:start_scale=1.2:end_scale=0.6")
    film("sluice.mp4", "gradients=size=320x180:rate=25:seed=7:speed=0.02")


if __name__ == "__main__":
    main()
