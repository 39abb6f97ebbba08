"""What the sample site's miller posted on Weibo, told in neither interface's words."""

from __future__ import annotations

from dataclasses import dataclass

MEMBER = "7600500400"
NAME = "Edda Quern"
LISTED_AT_ONCE = 9  # a list shows no more pictures of a post; its own page does


@dataclass(frozen=True, slots=True)
class Picture:
    """A still, a moving one, or a still with a film."""

    ident: str
    file: str
    film: str | None = None

    @property
    def kind(self) -> str:
        """In Weibo's words."""
        if self.film:
            return "livephoto"
        return "gif" if self.file.endswith(".gif") else "pic"


@dataclass(frozen=True, slots=True)
class Film:
    """A video."""

    ident: str
    file: str
    cover: str


@dataclass(frozen=True, slots=True)
class Note:
    """One post."""

    ident: str
    short: str
    created: str
    words: str
    rest: str = ""  # of a long text, which lists leave out
    pictures: tuple[Picture, ...] = ()
    film: Film | None = None
    is_pinned: bool = False

    @property
    def is_long(self) -> bool:
        """Whether a list leaves pictures out."""
        return len(self.pictures) > LISTED_AT_ONCE


_WALK = tuple(Picture(f"00walk{n:02}ly1h8quern", f"walk{n:02}.jpg") for n in range(1, 13))
NEWEST = (
    Note(
        "5310000000000100",
        "Qa1pinned",
        "Sun Mar 01 08:00:00 +0800 2026",
        "Who we are",
        pictures=(Picture("00pinnedly1h8quern", "pinned.jpg"),),
        is_pinned=True,
    ),
    Note(
        "5310000000000400",
        "Qa4lantern",
        "Sun May 03 21:10:00 +0800 2026",
        "The lantern, which swings",
        pictures=(Picture("00lanternly1h8quern", "lantern.jpg", film="lantern.mov"),),
    ),
)
OLDER = (
    Note(
        "5310000000000300",
        "Qa3walk",
        "Sat May 02 10:00:00 +0800 2026",
        "A walk around the pond, in twelve pictures",
        " and in as many words: heron, reed, weir",
        _WALK,
    ),
    Note(
        "5310000000000200",
        "Qa2sluice",
        "Fri May 01 06:30:00 +0800 2026",
        "The sluice opens",
        film=Film("1034:5310000000000200", "sluice.mp4", "small.jpg"),
    ),
    Note(
        "5310000000000150",
        "Qa1wheel",
        "Thu Apr 30 12:00:00 +0800 2026",
        "It turns",
        pictures=(Picture("00wheelly1h8quern", "wheel.gif"),),
    ),
)
NOTES = {note.short: note for note in (*NEWEST, *OLDER)}
