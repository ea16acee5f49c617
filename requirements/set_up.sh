#!/bin/sh
# Make a virtual environment and install a file of requirements into it, for the Makefile:
#
#   requirements/set_up.sh FOLDER FILE [an option of `pip install` ...]
#
# PYTHON chooses the interpreter; without it, the newest of those below that is found. If something is
# missing, the last line says in one sentence what, and the remedy.
set -u

VERSIONS="3.14 3.13 3.12 3.11"

stop() {
    echo "set-up: $1" >&2
    exit 1
}

supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2> /dev/null
}

find_python() {
    # A name on the PATH may be a stand-in of a version manager that runs nothing.
    for version in $VERSIONS; do
        if supported "python$version"; then
            echo "python$version"
            return
        fi
    done
    if supported python3; then
        echo python3
    fi
}

# What a command that failed has written says why it did.
says() {
    grep -q -i -E "$1" "$log"
}

# The free space of the disk that holds a folder, or will.
free_kib() {
    place=$1
    while [ ! -d "$place" ]; do
        place=$(dirname "$place")
    done
    df -Pk "$place" | awk 'NR == 2 { print $4 }'
}

explain() {
    if says 'No space left on device|Errno 28\b|Disk quota exceeded' || [ "$(free_kib "$folder")" -lt 50000 ]; then
        stop "the disk that holds $folder is full: free some GB there, or set VENV to a folder on another disk."
    elif [ "$(free_kib "${TMPDIR:-/tmp}")" -lt 50000 ]; then
        stop "the disk that holds ${TMPDIR:-/tmp} is full: free some GB there, or set TMPDIR to a folder on another disk."
    elif says 'ensurepip is not|No module named .?(venv|ensurepip)'; then
        stop "$python has no module venv: install it (Debian and Ubuntu: the package $(basename "$python")-venv), or set PYTHON to another Python."
    elif says 'DO NOT MATCH THE HASHES'; then
        stop "a download is not the file that $file names by its hash: clear the cache (pip cache purge) and repeat; if it happens again, the package index or a proxy changes files."
    elif says 'ProxyError|Cannot connect to proxy|Tunnel connection failed'; then
        stop "the proxy lets no request through: correct HTTPS_PROXY, or unset it if there is none."
    elif says 'CERTIFICATE_VERIFY_FAILED'; then
        stop "the package index's certificate is not trusted: set PIP_CERT to your network's certificates."
    elif says 'Failed to establish a new connection|NameResolutionError|Name or service not known|ConnectTimeout|Network is unreachable|Read timed out'; then
        stop "the package index cannot be reached: check the network, set HTTPS_PROXY or PIP_INDEX_URL, or see docs/air-gapped.md."
    elif says 'No matching distribution found for'; then
        lacks=$(sed -n 's/.*No matching distribution found for \([^ ]*\).*/\1/p' "$log" | tail -n 1)
        stop "the package index has no $lacks for $("$bin/python" -V) on this system: set PIP_INDEX_URL to an index that has it, or PYTHON to another Python from 3.11 to 3.14."
    elif says 'Failed building wheel for|Failed to build|Could not build wheels'; then
        stop "a package has no build for $("$bin/python" -V) on this system, and it could not be compiled: install a C compiler and Python's headers (Debian: build-essential and python3-dev; macOS: xcode-select --install), or set PYTHON to another Python from 3.11 to 3.14."
    fi
    stop "the command failed as shown above: $1"
}

run() {
    if ! "$@" > "$log" 2>&1; then
        tail -n 30 "$log" >&2
        explain "$*"
    fi
}

# How far pip is, by its log, every ten seconds until this script ends. (`sleep` must not keep its output open.)
report() {
    while sleep 10 > /dev/null 2>&1 && kill -0 $$ 2> /dev/null; do
        if says '^Installing collected packages'; then
            echo "set-up: all are here and are being unpacked"
        else
            echo "set-up: $(grep -c '^Collecting ' "$log") of $packages packages"
        fi
    done
}

install() {
    packages=$(grep -c '^[A-Za-z0-9]' "$file")
    echo "set-up: $packages packages into $folder, which takes one to four minutes"
    report &
    reporter=$!
    run "$bin/python" -m pip install --progress-bar off --disable-pip-version-check "$@" -r "$file"
    kill "$reporter" 2> /dev/null || true
}

folder=$1 file=$2
shift 2
bin=$folder/bin
log=$(mktemp) || stop "no temporary file can be written: free some space, or set TMPDIR."
reporter=
trap 'rm -f "$log"; test -z "$reporter" || kill "$reporter" 2> /dev/null' EXIT

python=${PYTHON:-$(find_python)}
if [ -z "$python" ]; then
    stop "no Python from 3.11 to 3.14 was found: install one, or set PYTHON to its path."
elif ! supported "$python"; then
    stop "$python is no Python from 3.11 to 3.14: set PYTHON to one."
fi

if [ ! -x "$bin/python" ]; then
    "$python" -c 'import venv, ensurepip' > "$log" 2>&1 || explain "$python -c 'import venv, ensurepip'"
    run "$python" -m venv "$folder"
elif ! supported "$bin/python"; then
    stop "$folder was made by a Python that is not there any more or is too old: remove $folder and repeat."
fi
install "$@"
