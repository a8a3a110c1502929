# shellcheck shell=bash
# What every case starts with:  . "$KILN_TESTS/lib.sh"
#
# The runner sets KILN_TMP (private directory), KILN_BUILD, KILN_TESTS, KILN_TOP, KILN_CARRIER
# (handover or relay) and KILN_SANITIZER.  Names here: server_*, volume_*, mount_*, need_*,
# expect_*, wait_for, py.  Nothing sleeps for a fixed time: waiting is for a condition.

set -eu -o pipefail
trap 'echo "line $LINENO of ${BASH_SOURCE[0]##*/}: \"$BASH_COMMAND\" gave $?" >&2' ERR
set -E

KILN=$KILN_BUILD/kiln
DATA=$KILN_TMP/data
SOCK=$KILN_TMP/sock
MNT=$KILN_TMP/mnt
MNT2=$KILN_TMP/mnt2
TCP_PORT=
SERVER_PID=
export KILN_SERVER=unix:$SOCK
export PYTHONPATH=$KILN_TESTS/helpers PYTHONDONTWRITEBYTECODE=1

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

need_cmd() {
	local cmd
	for cmd; do
		command -v "$cmd" >/dev/null || skip "needs $cmd"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

need_fuse() {
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -le "$end" ] || fail "waited in vain for: $*"
		sleep 0.02
	done
}

# expect_fail CODE REGEX COMMAND...: the exit code, and a line of its output.
expect_fail() {
	local want=$1 regex=$2 code=0
	shift 2
	"$@" >"$KILN_TMP/expect.out" 2>&1 </dev/null || code=$?
	[ "$code" = "$want" ] || fail "exit code $code, not $want: $* : $(cat "$KILN_TMP/expect.out")"
	grep -Eq -- "$regex" "$KILN_TMP/expect.out" ||
		fail "no line like '$regex' from: $* : $(cat "$KILN_TMP/expect.out")"
}

expect_eq() {
	[ "$1" = "$2" ] || fail "got '$1', expected '$2'${3:+ ($3)}"
}

# slowed COMMAND...: with libkiln-slow.so below it; of what a program loads, a sanitizer must be first.
slowed() {
	local first
	first=$(ldd "$1" | sed -n 's/.*=> \(.*lib[at]san\.[^ ]*\).*/\1/p')
	env LD_PRELOAD="$first $KILN_BUILD/bench/libkiln-slow.so" "$@"
}

# -- server ------------------------------------------------------------------------------------

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

server_ready() {
	"$KILN" status
}

# small_disk SIZE [OPTION...]: $DATA is an ext4 of that size; the options are those of mkfs.ext4.
small_disk() {
	local size=$1
	shift
	need_root
	need_cmd mkfs.ext4
	truncate -s "$size" "$KILN_TMP/image"
	mkfs.ext4 -q -m 0 "$@" "$KILN_TMP/image"
	mkdir "$DATA"
	mount -o loop "$KILN_TMP/image" "$DATA" || skip "needs loop devices"
	rmdir "$DATA/lost+found"
}

# server_start [OPTION...]: on $DATA; returns when it answers.  Its log is server.log.
server_start() {
	[ -n "$TCP_PORT" ] || TCP_PORT=$(free_port)
	"$KILN" serve "$DATA" --listen "unix:$SOCK" --listen "tcp:127.0.0.1:$TCP_PORT" "$@" \
		>>"$KILN_TMP/server.log" 2>&1 </dev/null &
	SERVER_PID=$!
	local end=$((SECONDS + 30))
	until server_ready >/dev/null 2>&1; do
		kill -0 "$SERVER_PID" 2>/dev/null || {
			tail -n 20 "$KILN_TMP/server.log" >&2
			fail "the server ended at once"
		}
		[ "$SECONDS" -le "$end" ] || fail "the server does not answer"
		sleep 0.02
	done
}

# server_stop: in order; its exit code must be 0.
server_stop() {
	local code=0
	kill -TERM "$SERVER_PID"
	wait "$SERVER_PID" || code=$?
	SERVER_PID=
	[ "$code" = 0 ] || fail "the server stopped with exit code $code"
}

server_kill() {
	kill -KILL "$SERVER_PID"
	wait "$SERVER_PID" 2>/dev/null || true
	SERVER_PID=
}

volume_create() {
	"$KILN" volume create "$@"
}

# -- mounts ------------------------------------------------------------------------------------

carrier_server() {
	case $KILN_CARRIER in
	handover) echo "unix:$SOCK" ;;
	relay) echo "tcp:127.0.0.1:$TCP_PORT" ;;
	*) fail "no carrier $KILN_CARRIER" ;;
	esac
}

# mount_volume VOLUME DIR [OPTION...]: over $KILN_CARRIER; returns when it is mounted.
mount_volume() {
	local volume=$1 dir=$2
	shift 2
	mkdir -p "$dir"
	KILN_SERVER=$(carrier_server) "$KILN" mount "$volume" "$dir" --log "$KILN_TMP/mount.log" "$@" \
		>"$KILN_TMP/mount.out" 2>&1 </dev/null || {
		cat "$KILN_TMP/mount.out"
		fail "kiln mount $volume"
	}
	mountpoint -q "$dir" || fail "$dir is not mounted"
}

mount_over() {
	local KILN_CARRIER=$1
	shift
	mount_volume "$@"
}

umount_volume() {
	"$KILN" umount "$1"
	! mountpoint -q "$1" || fail "$1 is still mounted"
}

# setup [SERVER OPTION...]: one server, one volume `v`, mounted at $MNT.
setup() {
	need_root
	need_fuse
	server_start "$@"
	volume_create v
	mount_volume v "$MNT"
}

# setup_two: the same volume twice, over both carriers: $MNT handed over, $MNT2 relayed.
setup_two() {
	need_root
	need_fuse
	server_start "$@"
	volume_create v
	mount_over handover v "$MNT"
	mount_over relay v "$MNT2"
}

mounts_ended() {
	! pgrep -f "^kiln-mount .* $KILN_TMP/"
}

# finish: what a case that used setup should end with: everything still whole, and the processes
# of its mounts ended by themselves (a sanitizer has its last word then).
finish() {
	local dir
	for dir in "$MNT2" "$MNT"; do
		! mountpoint -q "$dir" || umount_volume "$dir"
	done
	wait_for 30 mounts_ended
	kill -0 "$SERVER_PID" || fail "the server is gone"
	server_stop
}

cleanup() {
	local dir
	for dir in "$MNT2" "$MNT"; do
		! mountpoint -q "$dir" 2>/dev/null || umount -l "$dir" 2>/dev/null || true
	done
	[ -z "$SERVER_PID" ] || kill -KILL "$SERVER_PID" 2>/dev/null || true
}
trap cleanup EXIT

# py [ARG...] <<'EOF' ...: a Python program in the mount, with everything of helpers/kfs.py.
PY_COUNT=0
py() {
	PY_COUNT=$((PY_COUNT + 1))
	local file=$KILN_TMP/case-$PY_COUNT.py
	{ echo 'from kfs import *'; cat; } >"$file"
	(cd "${PY_DIR:-$MNT}" && exec timeout -s INT "${PY_TIMEOUT:-600}" python3 "$file" "$@")
}
