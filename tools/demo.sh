#!/usr/bin/env bash
# tools/demo.sh start | stop: a server on a new data directory below ./.demo, one volume, mounted
# and with a real tree in it.  `make demo` and `make demo-stop` call it.
set -eu -o pipefail
cd -P "$(dirname "$0")/.."
kiln=$PWD/${KILN_BUILD:-build}/kiln
demo=$PWD/.demo
sock=$demo/sock
export KILN_SERVER=unix:$sock

say() {
	printf '\n\033[1m== %s\033[0m\n' "$*"
}

run() {
	printf '$ %s\n' "$*"
	"$@"
}

die() {
	echo "demo: $*" >&2
	exit 1
}

check() {
	[ -x "$kiln" ] || die "$kiln is missing: run make"
	[ -e /dev/fuse ] ||
		die "there is no /dev/fuse here: load the fuse module (modprobe fuse), or give the container the device"
	[ "$(id -u)" = 0 ] || command -v fusermount3 >/dev/null ||
		die "fusermount3 is missing: install the package fuse3"
	[ "${#sock}" -lt 100 ] || die "the path of this checkout is too long for a socket: $sock"
}

# Whatever a former demo left, also one that was interrupted.
clean() {
	local pid
	# nothing may look into the mount before it is gone: without its server that waits for ever
	if grep -qF " ${demo// /\\040}/mnt " /proc/self/mounts; then
		"$kiln" umount --force "$demo/mnt" 2>/dev/null || umount -l "$demo/mnt" 2>/dev/null ||
			fusermount3 -uz "$demo/mnt" || die "cannot unmount $demo/mnt; is a shell in it?"
	fi
	if [ -f "$demo/pid" ]; then
		pid=$(cat "$demo/pid")
		if [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$kiln" ]; then
			kill "$pid"
			for _ in $(seq 200); do
				kill -0 "$pid" 2>/dev/null || break
				sleep 0.05
			done
			! kill -0 "$pid" 2>/dev/null || kill -KILL "$pid"
		fi
	fi
	rm -rf --one-file-system "$demo"
}

start() {
	check
	clean
	mkdir -p "$demo/mnt"
	say "a server on a new data directory"
	echo "\$ kiln serve .demo/data --listen unix:.demo/sock &"
	# in a session of its own: Ctrl-C is for this script, which then cleans up after itself
	trap 'clean; exit 130' INT TERM
	setsid "$kiln" serve "$demo/data" --listen "unix:$sock" >"$demo/server.log" 2>&1 </dev/null &
	echo $! >"$demo/pid"
	for _ in $(seq 200); do
		"$kiln" status >/dev/null 2>&1 && break
		kill -0 "$(cat "$demo/pid")" 2>/dev/null || {
			cat "$demo/server.log" >&2
			die "the server did not start"
		}
		sleep 0.05
	done
	export PATH="${kiln%/*}:$PATH"
	say "a volume, mounted"
	run kiln volume create first
	run kiln mount first .demo/mnt --log .demo/mount.log
	say "this source tree, copied in"
	local tree=.demo/mnt/kiln
	mkdir "$tree"
	git ls-files -z 2>/dev/null | tar --null -T - -cf - | tar -xf - -C "$tree" || cp -r base store server "$tree"
	run ls -l "$tree"
	run du -sh "$tree"
	run diff -r base "$tree/base" && echo "(the same)"
	say "what it looks like"
	run df -h .demo/mnt
	run kiln volume list
	run kiln status
	trap - INT TERM
	say "yours now"
	cat <<TEXT
The volume is mounted at  $demo/mnt
To talk to the server:    export KILN_SERVER=$KILN_SERVER; $kiln status
To stop and clean up:     make demo-stop
TEXT
}

case ${1:-} in
start) start ;;
stop)
	[ -d "$demo" ] || { echo "no demo is running"; exit 0; }
	clean
	echo "stopped; .demo is gone"
	;;
*) die "usage: tools/demo.sh start | stop" ;;
esac
