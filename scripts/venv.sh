# Sourced by the scripts beside it: where the project lies, and its virtual environment, made when
# it is missing and brought up to date when pyproject.toml or constraints.txt changed.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
python=$venv/bin/python

say() { printf '==> %s\n' "$*"; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# The newest settings of the installation, and the folder: a virtual environment can't be moved.
# _wanted FFMPEG: what is installed for want of the system's.
_wanted() {
    printf '%s\n%s\n' "$root" "$(cat -- "$root/pyproject.toml" "$root/constraints.txt" | sha256sum) $1"
}

_find_python() {
    local name
    for name in python3 python3.11 python3.12 python3.13 python3.14; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    fail "Python 3.11 or newer is needed and was not found (on Debian: apt-get install python3 python3-venv)"
}

# Debian keeps what gives a new environment its own pip in python3-venv. Where that is missing, the
# system's pip fills the environment from outside.
_make_venv() {
    local base=$1
    say "Making .venv with $("$base" --version)"
    if "$base" -c 'import ensurepip' 2>/dev/null; then
        "$base" -m venv --clear "$venv"
    elif "$base" -m pip --version >/dev/null 2>&1; then
        "$base" -m venv --clear --without-pip "$venv"
    else
        fail "Python has neither pip nor venv (on Debian: apt-get install python3-venv)"
    fi
}

_pip() {
    if [ -e "$venv/bin/pip" ]; then
        "$python" -m pip --disable-pip-version-check "$@"
    else
        "$(_find_python)" -m pip --disable-pip-version-check --python "$python" "$@"
    fi
}

# ensure_venv run|dev: what running needs, or what the gate needs besides. Videos that come in pieces
# want ffmpeg: where the system has none, a package's own goes into the environment.
ensure_venv() {
    local stamp=$venv/.headrace-$1 what=$root base ffmpeg="" extras
    command -v ffmpeg >/dev/null || ffmpeg=ffmpeg
    extras=$ffmpeg
    [ "$1" = run ] || extras=$1${ffmpeg:+,$ffmpeg}
    [ -z "$extras" ] || what="$root[$extras]"
    if [ -x "$python" ] && [ -e "$stamp" ] && [ "$(cat -- "$stamp")" = "$(_wanted "$ffmpeg")" ]; then
        return
    fi
    if ! "$python" -c '' 2>/dev/null || { [ -e "$stamp" ] && [ "$(head -n 1 -- "$stamp")" != "$root" ]; }; then
        base=$(_find_python) || exit
        _make_venv "$base"
    fi
    say "Installing Headrace and what it needs into .venv"
    _pip install --quiet --no-input -c "$root/constraints.txt" -e "$what"
    _wanted "$ffmpeg" >"$stamp"
    [ "$1" = run ] || _wanted "$ffmpeg" >"$venv/.headrace-run" # the gate's environment runs everything
}
