#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh - README's two commands as a new user runs them, in a fresh minimal Debian
#
#   scripts/fresh.sh [SUITE [COMMAND...]]     default: bookworm 'make demo' 'make check'
#
# Makes a minimal Debian with mmdebstrap in a temporary directory, copies what git has committed into it,
# and runs each COMMAND there as root, after it has asked for the same as a user without rights, who has to be told
# which packages to ask for. Needs root, mmdebstrap, git and the network. FRESH_BASE=FILE.tar: a minimal
# Debian that is there already. KEEP=1 leaves the directory, and says where it is.
set -eu
suite=${1:-bookworm}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- 'make demo' 'make check'
[ "$(id -u)" = 0 ] || { echo "fresh: a chroot needs root" >&2; exit 1; }
cd "$(dirname "$0")/.."
. scripts/chroot.sh
[ -n "${FRESH_BASE:-}" ] || command -v mmdebstrap >/dev/null || { echo "fresh: mmdebstrap is missing" >&2; exit 1; }
root=$(mktemp -d)
leave() {
	if [ -n "${KEEP:-}" ]; then
		echo "fresh: left in $root"
	else
		chroot_close "$root"
	fi
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
chroot_open "$suite" "$root"

inside() {	# USER COMMAND
	chroot_run "$root" "$1" "cd /tmp/$1/pugmark && $2"
}
copy() {	# USER
	mkdir -p "$root/tmp/$1/pugmark"
	git archive HEAD | tar -xf - -C "$root/tmp/$1/pugmark"
	chroot "$root" chown -R "$1" "/tmp/$1"
}

# All that a machine may have without being a Debian that can build: make itself.
chroot "$root" /bin/sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends make >/dev/null 2>&1' </dev/null
chroot "$root" useradd -m visitor
copy visitor
echo "# $suite, as a user without rights: make demo"
if inside visitor 'make demo'; then
	echo "fresh: the user was not told what to ask for" >&2
	exit 1
fi
copy root
for command; do
	echo "# $suite, as root: $command"
	inside root "$command" || { echo "fresh: $command failed on $suite" >&2; exit 1; }
done
echo "# $suite, as a user without rights, now that the packages are there: make demo"
inside visitor 'make demo' || { echo "fresh: make demo failed for a user on $suite" >&2; exit 1; }
