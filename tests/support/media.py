"""Small valid files in pure Python, the same for the same arguments: pictures that viewers open,
videos whose boxes are right. `size_bytes` pads a file, within its format, to an exact length."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterable

# Annex K of the JPEG standard: how many codes of each length, and their symbols, for DC luminance.
_DC_COUNTS = bytes([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
_DC_SYMBOLS = bytes(range(12))
_AC_COUNTS = bytes([1, *[0] * 15])  # one code, "0": end of block
_AC_SYMBOLS = b"\x00"


class _Bits:
    """Bits packed from the highest, or from the lowest."""

    def __init__(self, *, low_first: bool = False) -> None:
        self._bits: list[str] = []
        self._low_first = low_first

    def put(self, value: int, width: int) -> None:
        if width:
            text = f"{value:0{width}b}"
            self._bits.append(text[::-1] if self._low_first else text)

    def data(self, fill: str = "0") -> bytes:
        text = "".join(self._bits)
        text += fill * (-len(text) % 8)
        octets = (text[i : i + 8] for i in range(0, len(text), 8))
        return bytes(int(octet[::-1] if self._low_first else octet, 2) for octet in octets)


# --- JPEG ---


def _segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def _huffman(counts: bytes, symbols: bytes) -> dict[int, tuple[int, int]]:
    codes, code, symbol = {}, 0, iter(symbols)
    for length, count in enumerate(counts, start=1):
        for _ in range(count):
            codes[next(symbol)] = (code, length)
            code += 1
        code <<= 1
    return codes


def _blocks(width: int, height: int) -> int:
    return -(-width // 8) * -(-height // 8)


def _dc_scan(levels: Iterable[int], *, end_of_block: bool, restart: int) -> bytes:
    """One brightness a block; every `restart` blocks a restart marker."""
    codes = _huffman(_DC_COUNTS, _DC_SYMBOLS)
    out, bits, before = b"", _Bits(), 0
    for index, level in enumerate(levels):
        if restart and index and index % restart == 0:
            marker = bytes([0xFF, 0xD0 + (index // restart - 1) % 8])
            out += bits.data("1").replace(b"\xff", b"\xff\x00") + marker
            bits, before = _Bits(), 0
        difference, before = level - before, level
        width = abs(difference).bit_length()
        bits.put(*codes[width])
        bits.put(difference if difference > 0 else difference + (1 << width) - 1, width)
        if end_of_block:
            bits.put(0, 1)
    return out + bits.data("1").replace(b"\xff", b"\xff\x00")


def jpeg(
    width: int = 24,
    height: int = 16,
    *,
    seed: int = 0,
    size_bytes: int | None = None,
    progressive: bool = False,
    restart: int = 0,
    thumbnail: bytes = b"",
) -> bytes:
    """Grey blocks. `thumbnail` goes whole into APP1, its own end marker and all."""
    rng = random.Random(seed)
    levels = [rng.randrange(-500, 500) for _ in range(_blocks(width, height))]
    head = b"\xff\xd8" + _segment(0xE0, b"JFIF\0\x01\x02\0\0\x01\0\x01\0\0")
    if thumbnail:
        head += _segment(0xE1, b"Exif\0\0" + thumbnail)
    body = _segment(0xDB, b"\0" + b"\x02" * 64)
    body += _segment(
        0xC2 if progressive else 0xC0, struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\0"
    )
    body += _segment(0xC4, b"\x00" + _DC_COUNTS + _DC_SYMBOLS)
    body += _segment(0xC4, b"\x10" + _AC_COUNTS + _AC_SYMBOLS)
    if restart:
        body += _segment(0xDD, struct.pack(">H", restart))
    last = 0 if progressive else 63
    body += _segment(0xDA, b"\x01\x01\x00" + bytes([0, last, 0]))
    body += _dc_scan(levels, end_of_block=not progressive, restart=restart)
    if progressive:
        ends = _Bits()
        ends.put(0, len(levels))
        body += _segment(0xDA, b"\x01\x01\x00" + bytes([1, 63, 0])) + ends.data("1")
    return _padded(head, body + b"\xff\xd9", size_bytes, _comments, rng)


def _comments(length: int, rng: random.Random) -> bytes:
    out = b""
    while length - len(out) > 65_537:
        out += _segment(0xFE, rng.randbytes(60_000))
    return out + _segment(0xFE, rng.randbytes(length - len(out) - 4))


# --- PNG ---


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    width: int = 24, height: int = 16, *, seed: int = 0, size_bytes: int | None = None
) -> bytes:
    """Noise in colour."""
    rng = random.Random(seed)
    head = b"\x89PNG\r\n\x1a\n" + _chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    )
    rows = b"".join(b"\0" + rng.randbytes(width * 3) for _ in range(height))
    tail = _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return _padded(head, tail, size_bytes, lambda n, r: _chunk(b"prVt", r.randbytes(n - 12)), rng)


# --- GIF ---


def gif(
    width: int = 24,
    height: int = 16,
    *,
    seed: int = 0,
    frames: int = 1,
    size_bytes: int | None = None,
) -> bytes:
    """Four colours; with several frames it moves."""
    rng = random.Random(seed)
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x81, 0, 0) + rng.randbytes(12)
    tail = b"".join(_frame(width, height, rng) for _ in range(frames))
    return _padded(head, tail + b"\x3b", size_bytes, _gif_comment, rng)


def _frame(width: int, height: int, rng: random.Random) -> bytes:
    bits = _Bits(low_first=True)
    for index in range(width * height):
        if index % 2 == 0:
            bits.put(4, 3)  # clear before the code width could grow
        bits.put(rng.randrange(4), 3)
    bits.put(5, 3)
    control = b"\x21\xf9\x04\x00\x0a\x00\x00\x00"
    return (
        control
        + b"\x2c"
        + struct.pack("<HHHHB", 0, 0, width, height, 0)
        + b"\x02"
        + _sub(bits.data())
    )


def _sub(data: bytes) -> bytes:
    pieces = (data[i : i + 255] for i in range(0, len(data), 255))
    return b"".join(bytes([len(piece)]) + piece for piece in pieces) + b"\0"


def _gif_comment(length: int, rng: random.Random) -> bytes:
    out, left = b"\x21\xfe", length - 3
    while left:
        take = min(255, left - 1)
        take -= left - 1 - take == 1  # one octet can't be left: it would be a length alone
        out += bytes([take]) + rng.randbytes(take)
        left -= take + 1
    return out + b"\0"


# --- WebP ---


def webp(
    width: int = 24, height: int = 16, *, seed: int = 0, size_bytes: int | None = None
) -> bytes:
    """One colour, lossless."""
    rng = random.Random(seed)
    bits = _Bits(low_first=True)
    for value, size in ((0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 4), (0, 3)):
        bits.put(value, size)
    for _ in range(5):  # green, red, blue, alpha, distance: one symbol each, so pixels take no bits
        for value, size in ((1, 1), (0, 1), (1, 1), (rng.randrange(40), 8)):
            bits.put(value, size)
    head = b"RIFF\0\0\0\0WEBP" + _riff_chunk(b"VP8L", bits.data())
    file = _padded(head, b"", size_bytes, _riff_padding, rng)
    return file[:4] + struct.pack("<I", len(file) - 8) + file[8:]


def _riff_padding(length: int, rng: random.Random) -> bytes:
    return _riff_chunk(b"prVt", rng.randbytes(length - 8))[:length]


def _riff_chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


# --- MP4, MOV, HEIC, AVIF ---


def box(kind: bytes, *parts: bytes) -> bytes:
    """An ISO base media box."""
    body = b"".join(parts)
    return struct.pack(">I", 8 + len(body)) + kind + body


def _ftyp(brand: bytes, *compatible: bytes) -> bytes:
    return box(b"ftyp", brand, b"\0\0\2\0", *compatible)


def _moov(width: int, height: int) -> bytes:
    header = box(b"mvhd", b"\0" * 100)
    track = box(b"tkhd", b"\0\0\0\3", b"\0" * 72, struct.pack(">II", width << 16, height << 16))
    media = box(b"mdia", box(b"mdhd", b"\0" * 24), box(b"minf", box(b"stbl", b"")))
    return box(b"moov", header, box(b"trak", track, media))


def mp4(
    width: int = 24,
    height: int = 16,
    *,
    seed: int = 0,
    size_bytes: int = 2000,
    brand: bytes = b"isom",
    fast_start: bool = False,
    wide: bool = False,
) -> bytes:
    """Right boxes around noise. `fast_start` puts the index first, `wide` a 64-bit length."""
    rng = random.Random(seed)
    head, index = _ftyp(brand, b"isom", b"avc1"), _moov(width, height)
    noise = rng.randbytes(size_bytes - len(head) - len(index) - (16 if wide else 8))
    data = box(b"mdat", noise)
    if wide:
        data = struct.pack(">I4sQ", 1, b"mdat", 16 + len(noise)) + noise
    return head + (index + data if fast_start else data + index)


def heif(width: int = 24, height: int = 16, *, seed: int = 0, brand: bytes = b"heic") -> bytes:
    """HEIC, or AVIF with that brand: right boxes around noise."""
    size = box(b"ispe", b"\0" * 4, struct.pack(">II", width, height))
    meta = box(b"meta", b"\0" * 4, box(b"pitm", b"\0" * 6), box(b"iprp", box(b"ipco", size)))
    return _ftyp(brand, b"mif1", brand) + meta + box(b"mdat", random.Random(seed).randbytes(400))


# --- all of them ---


def _padded(
    head: bytes,
    tail: bytes,
    size_bytes: int | None,
    padding: Callable[[int, random.Random], bytes],
    rng: random.Random,
) -> bytes:
    if size_bytes is None:
        return head + tail
    missing = size_bytes - len(head) - len(tail)
    if missing < 16:
        raise ValueError(f"{size_bytes} bytes are too few: {len(head) + len(tail) + 16} at least")
    return head + padding(missing, rng) + tail


SAMPLES: dict[str, bytes] = {
    "jpeg": jpeg(),
    "jpeg-progressive": jpeg(progressive=True),
    "jpeg-restarts": jpeg(64, 64, restart=3),
    "jpeg-thumbnail": jpeg(thumbnail=jpeg(8, 8)),
    "png": png(),
    "gif": gif(),
    "gif-animated": gif(frames=3),
    "webp": webp(),
    "mp4": mp4(),
    "mp4-fast-start": mp4(fast_start=True),
    "mp4-wide": mp4(wide=True),
    "mov": mp4(brand=b"qt  "),
    "heic": heif(),
    "avif": heif(brand=b"avif"),
}
