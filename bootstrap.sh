#!/bin/sh
# Make the environment of requirements.lock in a folder: bootstrap.sh PYTHON FOLDER
# Called by the Makefile; needs nothing but Python 3.11.4 or newer. Uses uv if it can be had, pip otherwise.
set -eu
python=$1
venv=$2

stop() {
    echo "make: $1" >&2
    exit 1
}

command -v "$python" >/dev/null || stop "there is no $python here; install Python 3.11.4 or newer, or name one: make PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11, 4))' ||
    stop "Astraea needs Python 3.11.4 or newer, and $python is $("$python" -V 2>&1 | cut -d' ' -f2); name another one: make PYTHON=..."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    stop "$python cannot make environments (no ensurepip); install the venv package of your system, such as python3-venv"

echo "making the environment in $venv (once; 1.4 GB)"
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
python=$venv/bin/python

# uv of the lock itself, unless there is one on the PATH
if command -v uv >/dev/null; then
    uv=uv
else
    uv=$venv/bin/uv
    sed -n '/^uv==/,/^ *#/p' requirements.lock >"$venv/uv.txt"
    "$python" -m pip install --quiet --require-hashes --no-deps -r "$venv/uv.txt" 2>/dev/null || uv=
fi

# everything is compiled to bytecode here, once; otherwise the first start of every command would do it, and every start
# where PYTHONDONTWRITEBYTECODE is set
unset PYTHONDONTWRITEBYTECODE
if [ -n "$uv" ]; then
    "$uv" pip sync --python "$python" --compile-bytecode --require-hashes requirements.lock &&
        "$uv" pip install --python "$python" --quiet --no-deps --no-build-isolation --editable . --editable ./ops
else
    echo "uv is not to be had; pip does the same more slowly"
    "$python" -m pip install --quiet --compile --require-hashes --no-deps -r requirements.lock &&
        "$python" -m pip install --quiet --no-deps --no-build-isolation --editable . --editable ./ops
fi && "$python" -m compileall -q astraea ops/astraea_ops papers verification || stop "the environment is not complete (see above); run make again"
