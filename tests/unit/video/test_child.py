"""Children are bounded in all that they could use up, and gone when we stop waiting."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.errors import LeaseLost, Misconfigured, Timeout
from core.video.child import Limits, run

MIB = 1024**2
LIMITS = Limits(wall_s=60.0, cpu_s=10, memory_bytes=2048 * MIB, file_bytes=MIB)
# They are set once the child runs, as soon as we get to it.
ONCE_BOUND = (
    "import resource as r, time\n"
    "while r.getrlimit(r.RLIMIT_FSIZE)[0] == r.RLIM_INFINITY: time.sleep(0.01)\n"
)


def python(code, folder, *, check=lambda: None, **limits):
    given = {name: getattr(LIMITS, name) for name in Limits.__slots__} | limits
    command = [sys.executable, "-I", "-c", code]
    return run(command, folder, Limits(**given), SystemClock(), check)


def test_what_it_says_and_how_it_ended_are_told(tmp_path):
    ended = python(
        "import sys; print('out'); print('words', file=sys.stderr); sys.exit(3)", tmp_path
    )

    assert (ended.status, ended.out, ended.words) == (3, "out\n", "words\n")


def test_of_much_output_the_last_part_is_kept(tmp_path):
    ended = python("import sys; sys.stderr.write('x' * 1_000_000 + 'end')", tmp_path)

    assert len(ended.words) == 64 * 1024
    assert ended.words.endswith("xend")


def test_it_works_in_its_folder_with_nothing_of_our_environment_or_input(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "s3cret")
    code = "import os, sys; print(os.getcwd(), 'SECRET' in os.environ, sys.stdin.read() == '')"

    assert python(code, tmp_path).out == f"{tmp_path} False True\n"


def test_one_that_takes_too_long_is_ended(tmp_path):
    with pytest.raises(Timeout, match="not done after 0 s") as caught:
        python("import time; time.sleep(60)", tmp_path, wall_s=0.3)
    assert caught.value.reason == "ffmpeg_timeout"


def test_one_that_closes_its_outputs_and_goes_on_is_ended_too(tmp_path):
    code = "import os, time; os.close(1); os.close(2); time.sleep(60)"

    with pytest.raises(Timeout):
        python(code, tmp_path, wall_s=0.5)


def test_when_the_check_raises_the_whole_group_is_gone(tmp_path):
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys\n"
        "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{other.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        "other.wait()"
    )

    def check():
        if pids.exists():
            raise LeaseLost("another has it")

    with pytest.raises(LeaseLost):
        python(code, tmp_path, check=check)
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


def alive(pid):
    """Whether it still runs; what its new parent has not yet buried does not."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        os.sched_yield()
    return True


def test_memory_is_bounded(tmp_path):
    code = ONCE_BOUND + "print(len(bytearray(500_000_000)))"

    ended = python(code, tmp_path, memory_bytes=256 * MIB)

    assert ended.status == 1
    assert "MemoryError" in ended.words


def test_processor_time_is_bounded(tmp_path):
    assert python("while True: pass", tmp_path, cpu_s=1).status < 0


def test_what_it_writes_is_bounded(tmp_path):
    python(ONCE_BOUND + "open('big', 'wb').write(bytes(3_000_000))", tmp_path)

    assert (tmp_path / "big").stat().st_size <= MIB


def test_a_program_that_is_not_there_is_a_matter_of_settings(tmp_path):
    with pytest.raises(Misconfigured, match="can't be started: No such file"):
        run([str(tmp_path / "none")], tmp_path, LIMITS, SystemClock(), lambda: None)
