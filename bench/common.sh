# SPDX-License-Identifier: MIT
# common.sh - what the scripts share that measure: `. common.sh`, then begin PUGMARK DATA
#
# A run that fails ends the benchmark with status 2. The cache of translations is the benchmark's own: what runs of the same program
# with another input left there, put back before each run (warm).
die() {
	echo "${0##*/}: $*" >&2
	exit 2
}
begin() {
	command -v "$1" >/dev/null || die "there is no $1"
	[ -x /usr/bin/time ] || die "/usr/bin/time is missing: make setup GROUPS=bench installs it"
	pugmark=$(realpath "$(command -v "$1")")
	cd "$2" || exit 2
	cc1=$(gcc -print-prog-name=cc1)
	export XDG_CACHE_HOME="$PWD/cache-run"
}
must() {
	"$@" >out 2>err </dev/null
	status=$?
	[ $status = 0 ] && return
	tail -n 3 err >&2
	die "status $status: $*"
}
fill_begin() { rm -rf cache-filled cache-run; mkdir cache-run; }
fill_end() { mv cache-run cache-filled; }
warm() { rm -rf cache-run; cp -a cache-filled cache-run; }
# ... and a run that is not measured: who opens a file of the cache first checks all its bytes, which is done once
warm_up() { warm; must "$@"; }
# once NAME COMMAND: appends its user and system time to NAME.cpu, its wall time to NAME.wall
once() {
	to=$1
	shift
	must /usr/bin/time -o time -f "%U %S %e" "$@"
	tail -n 1 time | awk -v to="$to" '{ print $1 + $2 >> (to ".cpu"); print $3 >> (to ".wall") }'
}
median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.6g", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
# Round by round: A over B, into C.
ratios() {
	[ -s "$1" ] && [ -s "$2" ] || die "$1, $2: nothing was measured"
	paste "$1" "$2" | awk '$2 <= 0 { exit 1 } { printf "%.6f\n", $1 / $2 }' >"$3" || die "$2: too short to be measured"
}
# median (least-most)
spread() {
	sort -n "$1" | awk -v m="$(median "$1")" 'NR == 1 { least = $1 } END { printf "%.2f (%.2f-%.2f)", m, least, $1 }'
}
wanted() { [ -z "${W:-}" ] || case " $W " in *" $1 "*) ;; *) return 1;; esac; }
