#!/bin/sh
# Finds Python, installs memex into an environment of its own, hands over to `memex-hooks setup`. No sudo.
#   ./install.sh             set up for good; run it again to update
#   ./install.sh --no-hooks  the same, but leave the settings of Claude Code and Codex alone (for plugin users)
#   ./install.sh --demo      show it in a temporary folder; touch no settings
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
fail() { printf 'install.sh: %s\n' "$1" >&2; exit 1; }

case ${1:-} in
  '' | --demo | --no-hooks) ;;
  -h | --help) sed -n '2,5s/^# *//p' "$0"; exit 0 ;;
  *) printf 'install.sh: unknown argument %s; known: --demo, --no-hooks\n' "$1" >&2; exit 2 ;;
esac
[ -n "${HOME:-}" ] || fail 'HOME is not set; set it to your home folder and run this again'

python='' seen=''
for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
  seen=$seen$("$name" -c 'import sys; print(" %d.%d" % sys.version_info[:2])' 2>/dev/null || true)
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$name; break; fi
done

bin=$HOME/.local/bin
if [ "${1:-}" = --demo ]; then
  home=$(mktemp -d) || fail 'no temporary folder can be made; free some disk space or set TMPDIR'
  trap 'rm -rf "$home"' EXIT
  trap 'exit 130' INT TERM
else
  home=${XDG_DATA_HOME:-$HOME/.local/share}/memex
  mkdir -p "$home" "$bin" 2>/dev/null || fail "cannot make $home and $bin; check who owns the folders around them"
fi
venv=$home/venv log=$home/install.log

if [ -n "$python" ] && "$python" -m venv "$venv" >"$log" 2>&1; then
  pip() { "$venv/bin/python" -m pip install --quiet --upgrade --disable-pip-version-check "$here"; }
elif command -v uv >/dev/null 2>&1 && uv venv --quiet --allow-existing --python '>=3.11' "$venv" >>"$log" 2>&1; then
  pip() { uv pip install --quiet --upgrade --python "$venv/bin/python" "$here"; }
elif [ -z "$python" ]; then
  fail "Python 3.11 or newer is needed, found:${seen:- none}. Install it (Debian 12+, Ubuntu 24.04+: sudo apt install python3-venv; macOS: brew install python3), or install uv, which brings its own"
else
  fail "$python cannot make a virtual environment. Debian/Ubuntu: sudo apt install python3-venv; or install uv"
fi
echo 'Installing memex into an environment of its own ...'
pip >>"$log" 2>&1 ||
  fail "pip said: $(grep -i 'error: ' "$log" | sed 's/^ *//' | grep -v subprocess | tail -n 1). Check network, proxy and disk space, then run this again"
[ "${1:-}" != --demo ] || { "$venv/bin/memex-hooks" setup --demo; exit; }

for name in memex memex-hooks; do
  if [ -e "$bin/$name" ] && [ "$(readlink "$bin/$name" || true)" != "$venv/bin/$name" ]; then
    echo "install.sh: $bin/$name is another program's (pipx, uv?) and was left alone; ours is $venv/bin/$name" >&2
  else
    ln -sf "$venv/bin/$name" "$bin/$name" 2>/dev/null || echo "install.sh: cannot write to $bin; run $venv/bin/$name" >&2
  fi
done
exec "$venv/bin/memex-hooks" setup ${1:+"$1"}
