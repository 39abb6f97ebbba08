"""Secrets that stand in files of their own, so that they can be renewed while workers run. What is
wrong with one is said without a word of what it holds."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

_MOST_BYTES = 64 * 1024  # no cookie comes near; a path that leads to something else is not read


class FileSecret(SecretStr):
    """What a file held when it was read. Raises `ValueError` for a file without a secret."""

    def __init__(self, path: Path) -> None:
        super().__init__(_line_in(path))
        self.path = path

    def read_again(self) -> FileSecret:
        """What the file holds now. Raises `ValueError`."""
        return FileSecret(self.path)


def _line_in(path: Path) -> str:
    """The file's one line, without the end that editors add to it."""
    text = _text_in(path).strip("\r\n")
    if not text.strip():
        raise ValueError(f"{path} is empty: write the secret into it, on one line")
    if not text.isprintable():  # in a header, a line end would begin another one
        raise ValueError(
            f"{path} holds more than one line, or what is no text: write the secret alone into "
            "it, as it is sent (of a cookie: NAME=VALUE; NAME=VALUE)"
        )
    return text


def _text_in(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError(f"{path} has more than {_MOST_BYTES:,} bytes: it holds no secret")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8") from None
