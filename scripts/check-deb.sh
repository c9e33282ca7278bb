#!/bin/sh
# SPDX-License-Identifier: MIT
# check-deb.sh - builds the source package in build/deb, installs, tries and purges what comes out, in minimal Debians
#
#   scripts/check-deb.sh [SUITE...]     default: bookworm trixie
#
# For each SUITE: in one chroot a user without rights builds the packages twice, in different folders and with other
# settings, and both have to be the same bytes. In another chroot apt-get installs them, debian/tests try them, as root
# and as a user, and apt-get purges them with everything that came along: then every file has to be what it was
# before. Packages and logs of a suite are left in build/deb/SUITE.
# Needs root, mmdebstrap and the network. FRESH_BASE=FILE.tar: a minimal Debian that is there already, for one SUITE.
# ONCE=1: the packages are built once.
set -eu
[ $# -gt 0 ] || set -- bookworm trixie
die() {
	echo "check-deb: $*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || die "a chroot needs root"
cd "$(dirname "$0")/.."
. scripts/chroot.sh
for dsc in build/deb/*.dsc; do :; done
[ -e "$dsc" ] || die "there is no source package in build/deb: make deb"
[ -n "${FRESH_BASE:-}" ] || command -v mmdebstrap >/dev/null || die "mmdebstrap is missing"
export LC_ALL=C
given=${FRESH_BASE:-}
work=$(mktemp -d)
leave() {
	for d in "$work"/*/; do
		[ ! -d "$d" ] || chroot_close "${d%/}"
	done
	rm -f "$work"/*.*
	rmdir "$work"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM

# logged FILE COMMAND...: all of what it says goes there, the end of it to the user if it fails
logged() {
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 30 "$log" >&2
		die "$suite: '$*' failed; all of it is in $log"
	}
}

# apt DIR ARG...
apt() {
	in=$1
	shift
	chroot "$in" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -y \
		--no-install-recommends "$@" </dev/null
}

buildpackage() {	# FOLDER SETTINGS UMASK
	echo "# $suite: dpkg-buildpackage in $1"
	logged "$to/build-${1%/*}.log" chroot_run "$work/build" builder "export $2; umask $3; mkdir -p $1; cd $1 &&
		dpkg-source -x /source/${dsc##*/} p && cd p && dpkg-buildpackage -us -uc -b -j$(nproc)"
}

build() {
	mkdir "$work/build"
	chroot_open "$suite" "$work/build"
	logged "$to/update.log" apt "$work/build" update
	mkdir "$work/build/source"
	cp "$dsc" "${dsc%.dsc}".tar.* "$work/build/source"
	logged "$to/build-dep.log" apt "$work/build" build-dep "/source/${dsc##*/}"
	chroot "$work/build" useradd -m builder
	buildpackage one 'TZ=UTC LC_ALL=C' 022
	[ -n "${ONCE:-}" ] || buildpackage two/folders 'TZ=Asia/Tokyo LC_ALL=C.UTF-8' 027
	cp "$work/build/home/builder/one"/*.deb "$to"
	for deb in "$to"/*.deb; do
		[ -n "${ONCE:-}" ] || cmp "$deb" "$work/build/home/builder/two/folders/${deb##*/}" ||
			die "$suite: two builds differ"
	done
	chroot_close "$work/build"
}

# Every file, with what can be seen of it; not those in which apt and dpkg remember what they did, nor what they write anew;
# nor /etc/hosts, which netbase makes and leaves.
state() {
	(
		cd "$work/try"
		files() {
			find . \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./debs -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
				-o -path ./var/cache/apt -o -path ./var/cache/debconf -o -path ./var/cache/ldconfig -o -path ./var/log \
				-o -path ./etc/ld.so.cache -o -path ./etc/hosts \) -prune -o "$@"
		}
		files -printf '%p %M %u %g %l\n'
		files -type f -print0 | xargs -0 sha256sum | sed 's/\(.*\)  \(.*\)/\2 \1/'
	) | sort
}

first_steps() {	# USER TEST
	echo "# $suite, as $1: debian/tests/$2"
	chroot_run "$work/try" "$1" "/debs/$2" >"$to/$1-$2.log" 2>&1 || {
		cat "$to/$1-$2.log" >&2
		die "$suite: debian/tests/$2 failed"
	}
}

try() {
	mkdir "$work/try"
	chroot_open "$suite" "$work/try"
	apt "$work/try" update >>"$to/update.log" 2>&1
	chroot "$work/try" useradd -m visitor
	mkdir "$work/try/debs"
	cp "$to"/*.deb debian/tests/command debian/tests/develop "$work/try/debs"
	rm -f "$work/try"/debs/*-dbgsym_*
	state >"$work/before.$suite"
	debs=$(cd "$work/try" && echo debs/*.deb | sed 's,debs/,/debs/,g')
	tools=$(sed -n 's/|[^,]*//g; s/,//g; s/^Depends: @ //p' debian/tests/control)
	logged "$to/install.log" apt "$work/try" install $debs
	first_steps root command
	first_steps visitor command
	logged "$to/tools.log" apt "$work/try" install $tools
	first_steps visitor develop
	names=$(for deb in $debs; do basename "$deb" | sed 's/_.*//'; done)
	logged "$to/purge.log" apt "$work/try" purge $names $tools
	logged "$to/autoremove.log" apt "$work/try" -o APT::AutoRemove::RecommendsImportant=false \
		-o APT::AutoRemove::SuggestsImportant=false autoremove --purge
	state >"$work/after.$suite"
	diff "$work/before.$suite" "$work/after.$suite" >"$to/left" || {
		cat "$to/left" >&2
		die "$suite: files were left (>), changed, or went (<)"
	}
	rm "$to/left"
	chroot_close "$work/try"
	echo "# $suite: purged, nothing is left"
}

for suite; do
	to=build/deb/$suite
	rm -rf "$to"
	mkdir "$to"
	if [ -z "$given" ]; then
		echo "# $suite: mmdebstrap"
		FRESH_BASE=$work/base.tar
		mmdebstrap --quiet --variant=minbase "$suite" "$FRESH_BASE"
	fi
	build
	try
	ls -l "$to"/*.deb
done
