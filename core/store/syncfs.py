"""syncfs(2): one call that makes everything a file system has pending durable, names included.
Linux has it; elsewhere the answer is that it is not there."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_file_system(folder: Path) -> bool:
    """Write out all that is pending on the file system of `folder` and wait for it; False where
    there is no such call. Raises OSError; lost writes are told since Linux 5.8."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is None:
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if call(descriptor) != 0:
            fault = ctypes.get_errno()
            raise OSError(fault, os.strerror(fault))
    finally:
        os.close(descriptor)
    return True
