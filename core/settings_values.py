"""What a value in the settings may be, whichever setting it is of. Secrets are not among them: they
may come from the environment, which one file alone reads."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from core import timetable


def _host(value: object) -> object:
    """In the letters of an address; what it says without a scheme is what https:// would."""
    return value.lower().removeprefix("https://") if isinstance(value, str) else value


def _cron(line: str) -> str:
    timetable.cron(line)
    return line


Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Slots = Annotated[int, Field(ge=1, le=256)]
Duration = Annotated[float, BeforeValidator(timetable.seconds)]
CronLine = Annotated[str, AfterValidator(_cron)]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$")]
HeaderValue = Annotated[str, Field(pattern=r"^[\t\x20-\x7e\xa0-\xff]*$")]
Pattern = Annotated[str, Field(pattern=r"^https?://\S+$")]
LanguageTag = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{2,35}$")]  # BCP 47
# A name without port and path, or an address; "http://" before it allows no encryption.
SecretHost = Annotated[
    str,
    BeforeValidator(_host),
    Field(pattern=r"^(?:http://)?(?:[^\s/?#@:\[\]]+|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*)$"),
]
