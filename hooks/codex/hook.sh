#!/bin/sh
# hook.sh HARNESS EVENT: the payload of the event arrives on standard input.
#
# Drops the event into the spool of the memory and starts a detached worker. Exits 0 whatever happens and prints
# nothing, except what recall has to say when a session starts. POSIX sh and built-ins: a harness waits for this.

trap 'exit 0' EXIT
umask 077
exec 2>/dev/null
[ -z "${MEMEX_CHILD:-}" ] || exit 0

harness=$1
event=$2
case $event in
    SessionStart | Stop | PreCompact | SubagentStop | SessionEnd) ;;
    *) exit 0 ;;
esac
case $harness in
    claude-code) config_dir=${CLAUDE_CONFIG_DIR:-} ;;
    codex) config_dir=${CODEX_HOME:-} ;;
    *) exit 0 ;;
esac
case $config_dir in
    *"
"*) config_dir= ;; # a line break would shift the payload
esac

# --- where the memory is, and the Python that has memex_hooks: hook.conf, written by `memex-hooks install`
PATH=${PATH:-/usr/bin:/bin}
case ${XDG_DATA_HOME:-} in
    /*) data_home=$XDG_DATA_HOME ;;
    *) data_home=${HOME:-}/.local/share ;;
esac
root=
python=
for conf in "${0%/*}/hook.conf" "$data_home/memex/hook.conf"; do
    [ -f "$conf" ] && [ -r "$conf" ] || continue
    { IFS= read -r root && IFS= read -r python; } <"$conf"
    break
done
root=${MEMEX_DATA_DIR:-${root:-${HOME:+$HOME/.memex}}}
case $root in
    '') exit 0 ;;
    '~' | '~/'*) root=${HOME:-}${root#'~'} ;;
esac
case $root in
    /*) ;;
    *) root=$PWD/$root ;;
esac
MEMEX_DATA_DIR=$root
export MEMEX_DATA_DIR

# --- the envelope: complete under its name or not there; the name is ours alone from the first byte on
spool=$root/spool
[ -d "$spool" ] || mkdir -p "$spool"
set -C
n=0
temp=
while [ "$n" -lt 50 ]; do
    name=$harness.$event.$$.$n
    n=$((n + 1))
    temp=$spool/.$name.tmp
    if { :; } >"$temp"; then
        [ -e "$spool/$name.json" ] || break
        rm -f "$temp" # an undrained envelope of an earlier process with our number
    elif [ ! -e "$temp" ]; then
        n=50 # nothing can be written here
    fi
    temp=
done

dropped=
if [ -z "$temp" ]; then
    exec 3<&0 # nothing was read yet
elif { printf 'memex-envelope 1 %s %s\n%s\n' "$harness" "$event" "$config_dir" && head -c 10485760; } >>"$temp" &&
    [ -r "$temp" ] && exec 3<"$temp" && mv -f "$temp" "$spool/$name.json"; then
    dropped=yes
    IFS= read -r _ <&3
    IFS= read -r _ <&3
else
    rm -f "$temp"
    exec 3</dev/null
fi

# --- without hook.conf (a plugin alone): memex-hooks from PATH or ~/.local/bin, and the Python that it names
command=
if [ ! -x "$python" ]; then
    python=
    command=$(command -v memex-hooks) || command=${HOME:-}/.local/bin/memex-hooks
    if [ -f "$command" ] && [ -x "$command" ]; then
        IFS= read -r line <"$command"
        case $line in
            '#!/'*/python*) python=${line#'#!'} ;;
        esac
        [ -x "$python" ] || python=
    else
        command=
    fi
fi

# --- the worker: a session of its own where the system can, none of our streams, no folder held
detach() {
    (
        trap '' HUP INT
        cd /
        if command -v setsid >/dev/null; then
            exec setsid "$@"
        fi
        exec "$@"
    ) </dev/null >/dev/null 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&- &
}

if [ -n "$dropped" ]; then
    if [ -n "$python" ]; then
        detach "$python" -I -c 'import contextlib, os, runpy
with contextlib.suppress(OSError):
    os.setsid()
runpy.run_module("memex_hooks.worker", run_name="__main__", alter_sys=True)'
    elif [ -n "$command" ]; then
        detach "$command" drain
    fi
fi

if [ "$event" = SessionStart ] && [ -n "$python" ]; then
    "$python" -I -m memex_hooks.recall_hook "$harness" "$event" <&3 3<&-
fi
exit 0
