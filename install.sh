#!/bin/sh
# Finds Python, installs memex into an environment of its own, hands over to `memex-hooks setup`. No sudo.
#   ./install.sh          set up for good        ./install.sh --demo   show it in a scratch memory, touch no settings
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
fail() { printf 'install.sh: %s\n' "$1" >&2; exit 1; }

case ${1:-} in
  '' | --demo) ;;
  -h | --help) sed -n '2,3s/^# *//p' "$0"; exit 0 ;;
  *) printf 'install.sh: unknown argument %s (only --demo is known)\n' "$1" >&2; exit 2 ;;
esac
[ -n "${HOME:-}" ] || fail 'HOME is not set; set it to your home folder and run this again'

python=
for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$name; break; fi
done

if [ "${1:-}" = --demo ]; then
  home=$(mktemp -d) || fail 'no temporary folder can be made; free some disk space or set TMPDIR'
  trap 'rm -rf "$home"' EXIT
  trap 'exit 130' INT TERM
else
  home=${XDG_DATA_HOME:-$HOME/.local/share}/memex
  mkdir -p "$home" "$HOME/.local/bin" || fail "cannot write to $home or $HOME/.local/bin; check who owns them"
fi

venv=$home/venv
log=$home/install.log
if [ -n "$python" ] && "$python" -m venv "$venv" >"$log" 2>&1; then
  set -- "${1:-}" "$venv/bin/python" -m pip install --quiet --upgrade --disable-pip-version-check "$here"
elif command -v uv >/dev/null 2>&1 && uv venv --quiet --allow-existing --python '>=3.11' "$venv" >>"$log" 2>&1; then
  set -- "${1:-}" uv pip install --quiet --upgrade --python "$venv/bin/python" "$here"
elif [ -z "$python" ]; then
  fail 'Python 3.11 or newer is needed. Debian/Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python3'
else
  fail "$python cannot make a virtual environment (see $log). Debian/Ubuntu: sudo apt install python3-venv; or install uv"
fi
mode=$1; shift
echo 'Installing memex into an environment of its own ...'
"$@" >>"$log" 2>&1 || fail "installing failed; the last line says why, all of it is in $log: $(tail -n 1 "$log")"
[ "$mode" != --demo ] || { "$venv/bin/memex-hooks" setup --demo; exit; }

for name in memex memex-hooks; do
  link=$HOME/.local/bin/$name
  if [ -e "$link" ] && [ "$(readlink "$link" || true)" != "$venv/bin/$name" ]; then
    echo "install.sh: $link is another program's (pipx, uv?) and was left alone; ours is $venv/bin/$name" >&2
  else
    ln -sf "$venv/bin/$name" "$link"
  fi
done
exec "$venv/bin/memex-hooks" setup
