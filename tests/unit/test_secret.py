"""Secrets in files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Misconfigured
from core.secret import FileSecret
from core.settings import SourceSettings, load

COOKIE = 'cookie = { file = "mill.cookie" }'


def source_with(folder: Path, content: bytes | None, line: str = COOKIE) -> SourceSettings:
    if content is not None:
        (folder / "mill.cookie").write_bytes(content)
    settings = folder / "headrace.toml"
    settings.write_text(f"[sources.mill]\n{line}\n")
    return load(settings).source("mill")


@pytest.mark.parametrize(
    "content",
    [b"sid=hush", b"sid=hush\n", b"sid=hush\r\n", b"\xef\xbb\xbfsid=hush\r\n", b"\nsid=hush\n\n"],
)
def test_a_secret_is_its_files_line_without_what_editors_add(tmp_path, content):
    cookie = source_with(tmp_path, content).cookie

    assert cookie.get_secret_value() == "sid=hush"


def test_a_secrets_file_lies_beside_the_settings_wherever_the_command_starts(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert source_with(tmp_path, b"sid=hush").cookie.get_secret_value() == "sid=hush"


def test_a_secrets_file_may_lie_anywhere(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "token").write_bytes(b"t0k3n\n")

    source = source_with(tmp_path, None, f'token = {{ file = "{tmp_path}/run/token" }}')
    assert source.token.get_secret_value() == "t0k3n"


def test_headers_and_parameters_take_files_too(tmp_path):
    line = 'secret_headers = { X-Key = { file = "mill.cookie" } }'

    source = source_with(tmp_path, b"hush\n", line)
    assert source.secret_headers["X-Key"].get_secret_value() == "hush"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"sources\.mill\.cookie: .*mill\.cookie can't be read: No such file"),
        (b"", "is empty"),
        (b" \r\n", "is empty"),
        (b"sid=hush\xff", "is no text in UTF-8"),
        (b"sid=hush\r\nX-Evil: 1", "more than one line"),
        (b"sid=hush\0", "no text"),
        (b"hush" * 20_000, "holds no secret"),
    ],
)
def test_a_file_without_a_secret_is_refused_by_name_and_never_shown(tmp_path, content, said):
    with pytest.raises(Misconfigured, match=said) as caught:
        source_with(tmp_path, content)

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("line", ["cookie = { path = 'x' }", "cookie = { file = 'x', env = 'Y' }"])
def test_a_secret_told_otherwise_says_how_it_is_told(tmp_path, line):
    with pytest.raises(Misconfigured, match=r"is a string, \{ env = "):
        source_with(tmp_path, b"", line)


def test_a_file_secret_never_shows(tmp_path):
    source = source_with(tmp_path, b"sid=hush")

    assert "hush" not in f"{source!r} {source} {source.model_dump()}"


def test_a_file_secret_is_read_again_on_demand_only(tmp_path):
    path = tmp_path / "mill.cookie"
    path.write_text("sid=1")
    secret = FileSecret(path)
    path.write_text("sid=2")

    assert secret.get_secret_value() == "sid=1"
    assert secret.read_again().get_secret_value() == "sid=2"
