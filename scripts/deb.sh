#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh - Debian packages, source and binary, of what git has committed, in build/deb; lintian looks at them
#
#   scripts/deb.sh VERSION
#
# The time in them is that of debian/changelog, and the folder they are built in leaves no trace: another build
# of the same commit gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
top=$PWD to=build/deb tree=build/deb/pugmark-$1
rm -rf "$to"
mkdir -p "$to"
scripts/source.sh "$1" | tar -xf - -C "$to"
unset SOURCE_DATE_EPOCH MAKEFLAGS MFLAGS MAKELEVEL
(cd "$tree" && dpkg-buildpackage -us -uc -j"$(nproc)") > "$to/log" 2>&1 || {
	tail -n 40 "$to/log" >&2
	echo "deb: the build failed; all of it is in $top/$to/log" >&2
	exit 1
}
rm -rf "$tree"
if command -v lintian >/dev/null; then
	# As root it wants to be told that this is meant.
	lintian --allow-root --fail-on error,warning "$to"/*.changes
fi
ls -l "$to"/*.deb
