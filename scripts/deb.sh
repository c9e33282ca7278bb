#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh - Debian packages of what git has committed, in build/deb; lintian looks at them if it is there
#
#   scripts/deb.sh VERSION
set -eu
cd "$(dirname "$0")/.."
top=$PWD to=build/deb tree=build/deb/pugmark-$1
rm -rf "$to"
mkdir -p "$to"
git archive --prefix="pugmark-$1/" HEAD | tar -xf - -C "$to"
# What is fetched at set-up, as it is: a build of packages has no network.
[ ! -d .cache ] || cp -r .cache "$tree/"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
(cd "$tree" && dpkg-buildpackage -us -uc -b -j"$(nproc)") > "$to/log" 2>&1 || {
	tail -n 40 "$to/log" >&2
	echo "deb: the build failed; all of it is in $top/$to/log" >&2
	exit 1
}
rm -rf "$tree"
! command -v lintian >/dev/null || lintian --fail-on error "$to"/*.changes
ls -l "$to"/*.deb
