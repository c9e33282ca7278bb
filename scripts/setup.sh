#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh - install the Debian packages that are missing
#
#   scripts/setup.sh [GROUP...]     groups of scripts/packages.txt; default: build test
#
# As root it installs them through apt-get; otherwise it prints what to ask an administrator for.
# Packages of the group "optional" may fail to install. Does nothing where nothing is missing.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- build test

wanted() {
	while read -r name hash group _; do
		case $name in ''|'#'*) continue;; esac
		for g; do
			[ "$hash $group" != "# $g" ] || echo "$name"
		done
	done < scripts/packages.txt | sort -u
}

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is not a Debian system; pugmark needs what these packages hold:" >&2
	wanted "$@" >&2
	exit 1
fi

missing() {
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
		sed -n 's/^installed //p')
	wanted "$@" | while read -r name; do
		case "
$installed
" in *"
$name
"*) ;; *) echo "$name";; esac
	done
}

need=$(missing "$@")
[ -n "$need" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "setup: these Debian packages are missing:"
	echo "$need" | sed 's/^/  /'
	echo "as root, this installs them:"
	echo "  apt-get install --no-install-recommends" $need
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt() {
	apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}
apt update
optional=
for name in $need; do
	if [ "$(wanted build test bench | grep -cx -e "$name")" = 0 ]; then
		optional="$optional $name"
		need=$(echo "$need" | grep -vx -e "$name" || :)
	fi
done
[ -z "$need" ] || apt install -y --no-install-recommends $need
for name in $optional; do
	apt install -y --no-install-recommends "$name" ||
		echo "setup: optional package $name could not be installed" >&2
done
