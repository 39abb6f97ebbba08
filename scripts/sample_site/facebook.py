"""The sample site's page of the Graph API: «The Mill Pond Society». It wants its token in a header,
says how much of the hour's budget is used, refuses once for asking too often, and lists one address
that is dead already."""

from __future__ import annotations

from collections.abc import Callable

from scripts.sample_site.answers import Answer
from scripts.sample_site.speaking import (
    RETRY_AFTER_S,
    Asked,
    Speaking,
    Tickets,
    file_answer,
    told,
)

TOKEN = "the-token-of-the-mill-pond-society"
API = "/v27.0"
PAGE = "900700600500"
EDGE = f"{API}/{PAGE}/published_posts"
FILES = "/fbcdn/"
VIDEO = "900700600777"
PHOTOS = {"900700600701": "gate", "900700600702": "loft", "900700600703": "millrace"}
_PAGE_LIMIT, _BAD_TOKEN, _NO_OBJECT = 32, 190, 100


class Facebook(Speaking):
    """`address` is the site's."""

    def __init__(self, address: str, started_at: float) -> None:
        super().__init__("facebook", address, Tickets("oe", "oh", started_at, in_hexadecimal=True))
        self.token = TOKEN

    def answer(self, asked: Asked) -> Answer | None:
        if asked.path.startswith(FILES):
            if not self._tickets.opens(asked):
                return told({"error": "URL signature expired"}, 403)
            return file_answer(self._files, asked)
        if not asked.path.startswith(f"{API}/"):
            return None
        if asked.headers["Authorization"] != f"Bearer {self.token}":
            return _refusal(_BAD_TOKEN, 463, "Error validating access token: it has expired")
        if asked.path == EDGE:
            return self._posts(asked)
        return self._nodes(asked)

    # --- posts ---

    def _posts(self, asked: Asked) -> Answer:
        """Three pages, of which the second is empty: the token may see nothing of it."""
        pages: dict[str, tuple[Callable[[], list[object]], str | None]] = {
            "": (self._newest, "second"),
            "second": (list, "third"),
            "third": (self._oldest, None),
        }
        after = asked.query.get("after", "")
        if after not in pages:
            return _refusal(_NO_OBJECT, None, "Invalid cursor")
        if after == "third" and self._once("throttle"):
            words = "Page request limit reached"
            return _refusal(_PAGE_LIMIT, None, words, regain_s=RETRY_AFTER_S)
        posts, following = pages[after]
        body: dict[str, object] = {"data": posts()}
        if following:
            # As the API does: with the token in it.
            query = f"after={following}&access_token={self.token}"
            body["paging"] = {"next": f"{self._address}{EDGE}?{query}"}
        return told(body, headers=_usage())

    def _newest(self) -> list[object]:
        first, second, _ = PHOTOS
        album = self._photo(first) | {"type": "album", "media_type": "album"}
        album["target"] = {"id": "900700600790"}
        album["subattachments"] = {"data": [self._photo(first), self._photo(second)]}
        preview = {"type": "share", "media_type": "link", "unshimmed_url": "https://mill.example/"}
        return [
            self._post("31", "2026-05-03T09:00:00+0000", "The gate, and the loft above it", album),
            self._post("30", "2026-05-02T18:20:00+0000", "A heron in the race", self._film()),
            self._post("29", "2026-05-01T07:00:00+0000", "What the paper says", preview),
        ]

    def _oldest(self) -> list[object]:
        *_, last = PHOTOS
        words = "The millrace before the repair"
        return [self._post("12", "2026-04-02T12:00:00+0000", words, self._photo(last))]

    def _post(self, ident: str, created: str, words: str, attached: object) -> object:
        return {
            "id": f"{PAGE}_{ident}",
            "created_time": created,
            "message": words,
            "from": {"id": PAGE, "name": "The Mill Pond Society"},
            "attachments": {"data": [attached]},
        }

    def _photo(self, ident: str) -> dict[str, object]:
        """In the one small size that posts have."""
        image = {"src": self._file(f"{PHOTOS[ident]}-160.jpg"), "width": 160, "height": 106}
        return {
            "type": "photo",
            "media_type": "photo",
            "media": {"image": image},
            "target": {"id": ident},
        }

    def _film(self) -> object:
        return {
            "type": "video_inline",
            "media_type": "video",
            "media": {"source": self._file("heron.mp4", is_dead=True)},
            "target": {"id": VIDEO},
        }

    # --- nodes ---

    def _nodes(self, asked: Asked) -> Answer:
        """One by its path, or many by their ids: then one that is not there fails them all."""
        named = asked.path.removeprefix(f"{API}/")
        idents = [named] if named else asked.query.get("ids", "").split(",")
        found = {ident: self._node(ident) for ident in idents}
        if not all(found.values()):
            return _refusal(_NO_OBJECT, 33, "Unsupported get request. Object does not exist")
        return told(found[named] if named else found, headers=_usage())

    def _node(self, ident: str) -> object:
        if ident == VIDEO:
            native = {"filter": "native", "width": 160, "height": 90}
            return {"id": ident, "source": self._file("heron.mp4"), "format": [native]}
        if ident not in PHOTOS:
            return None
        sizes = [
            {"source": self._file(f"{PHOTOS[ident]}-{width}.jpg"), "width": width}
            | {"height": width * 2 // 3}
            for width in (160, 640)  # in no promised order
        ]
        return {"id": ident, "images": sizes}

    def _file(self, name: str, *, is_dead: bool = False) -> str:
        return self._tickets.sign(f"{self._address}{FILES}{name}", is_dead=is_dead)


def _usage(regain_s: float = 0.0) -> dict[str, str]:
    """The API tells the time to wait in minutes. Of the hour's budget little is used: it is not
    that which the page is out of."""
    counts = '"call_count": 12, "total_cputime": 4, "total_time": 5'
    regain = f'"estimated_time_to_regain_access": {regain_s / 60:.4f}'
    return {
        "X-App-Usage": '{"call_count": 3, "total_cputime": 1, "total_time": 1}',
        "X-Business-Use-Case-Usage": f'{{"{PAGE}": [{{"type": "pages", {counts}, {regain}}}]}}',
    }


def _refusal(code: int, subcode: int | None, words: str, *, regain_s: float = 0.0) -> Answer:
    """Every refusal is a 400: the code in the body tells which."""
    fault: dict[str, object] = {"message": f"(#{code}) {words}", "type": "OAuthException"}
    fault |= {"code": code} | ({"error_subcode": subcode} if subcode else {})
    return told({"error": fault}, 400, _usage(regain_s))
