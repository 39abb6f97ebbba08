"""AES-128-CBC with PKCS#7 padding, as a stream: each use of a piece stands for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from core.errors import DamagedPiece

_BLOCK_BITS = 128


def decrypted(chunks: Iterable[bytes], key: bytes, iv: bytes, piece: int) -> Iterator[bytes]:
    """The plain bytes of `chunks`, without their padding. Raises `DamagedPiece` naming `piece` when
    they end in no padding: cut, or encrypted under another key."""
    decryptor = Cipher(AES128(key), CBC(iv)).decryptor()
    unpadder = PKCS7(_BLOCK_BITS).unpadder()
    for chunk in chunks:
        plain = unpadder.update(decryptor.update(chunk))
        if plain:
            yield plain
    try:
        last = unpadder.update(decryptor.finalize()) + unpadder.finalize()
    except ValueError as error:  # not a whole number of blocks, or no padding
        raise DamagedPiece(
            f"piece {piece} can't be decrypted: cut, or encrypted under another key",
            piece=piece,
        ) from error
    if last:
        yield last
