#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh - install the Debian packages that are missing
#
#   scripts/setup.sh [GROUP...]     groups of scripts/packages.txt; default: build test
#
# As root it installs them through apt-get; otherwise it prints the one command to ask an administrator
# for, and fails. What this Debian does not have is left out, but for the group "build"; packages of the
# group "optional" may fail to install. Does nothing where nothing is missing.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- build test

# The names of groups, as they are in packages.txt.
listed() {
	while read -r name hash group _; do
		case $name in ''|'#'*) continue;; esac
		for g; do
			[ "$hash $group" != "# $g" ] || echo "$name"
		done
	done < scripts/packages.txt | sort -u
}

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is not a Debian system; pugmark needs what these packages hold:" $(listed build) >&2
	exit 0
fi

# The names that stand for one, one per line: alternatives, and GCC for the version of the default compiler.
gcc_version() {
	v=$(dpkg-query -W -f '${Version}' gcc 2>/dev/null) || v=
	[ -n "$v" ] || v=$(apt-cache policy gcc 2>/dev/null | sed -n 's/^ *Candidate: *//p')
	v=${v#*:}
	case $v in
	[0-9]*) echo "${v%%.*}";;
	*) if grep -qs '^VERSION_ID="12"' /etc/os-release; then echo 12; else echo 14; fi;;
	esac
}
names() { echo "$1" | sed "s/GCC/$gcc/g" | tr '|' '\n'; }
gcc=$(gcc_version)

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
is_in() {	# LIST, NAME
	case "
$1
" in *"
$2
"*) return 0;; esac
	return 1
}
missing() {
	listed "$@" | while read -r entry; do
		for name in $(names "$entry"); do
			! is_in "$installed" "$name" || continue 2
		done
		echo "$entry"
	done
}

# Sets $have: what apt-get could install of @need; all of it while nobody has fetched the lists.
look_up() {
	have=$(apt-cache policy make $(for e in $need; do names "$e"; done) 2>/dev/null |
		awk '/^[^ ]/ { sub(/:$/, ""); name = $0 } / Candidate: [0-9]/ { print name }')
	[ -n "$have" ] || have=$(for e in $need; do names "$e"; done)
}

# Splits $need: $wanted and $optional to install, $absent.
choose() {
	wanted= optional= absent=
	look_up
	for entry in $need; do
		found=
		for name in $(names "$entry"); do
			if is_in "$have" "$name"; then
				found=$name
				break
			fi
		done
		if [ -z "$found" ] && is_in "$vital" "$entry"; then
			found=$(names "$entry" | head -n 1)
		fi
		if [ -z "$found" ]; then
			absent="$absent $(names "$entry" | head -n 1)"
		elif is_in "$required" "$entry"; then
			wanted="$wanted $found"
		else
			optional="$optional $found"
		fi
	done
}

need=$(missing "$@")
[ -n "$need" ] || exit 0
vital=$(listed build)
required=$(listed build test bench guests deb chroot)
choose
if [ -z "$wanted$optional" ]; then
	echo "setup: this Debian does not have$absent"
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	if [ -z "$wanted" ]; then
		echo "setup: not installed, and not needed:$optional"
		exit 0
	fi
	echo "setup: Debian packages are missing. Ask an administrator for this command:"
	echo "  apt-get update && apt-get install --no-install-recommends$wanted"
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
mkdir -p build
log=build/setup.log
: >$log
apt() {		# what it says goes into the log
	echo "# apt-get $*" >>$log
	apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" >>$log 2>&1 </dev/null
}
apt update || echo "setup: apt-get update failed; the lists may be old" >&2
choose
if [ -n "$wanted" ]; then
	echo "setup: installing $(echo $wanted | wc -w) packages, see $log"
	apt install -y --no-install-recommends $wanted || {
		tail -n 20 $log >&2
		echo "setup: apt-get could not install$wanted" >&2
		exit 1
	}
fi
# All at once, since each call of apt-get takes seconds; if one of them cannot be installed, each half by itself.
install_optional() {
	[ $# -gt 0 ] && ! apt install -y --no-install-recommends "$@" || return 0
	if [ $# = 1 ]; then
		echo "setup: optional package $1 could not be installed"
		return
	fi
	half=$(($# / 2))
	set -- "$(echo "$@" | cut -d ' ' -f "1-$half")" "$(echo "$@" | cut -d ' ' -f "$((half + 1))-")"
	install_optional $1
	install_optional $2
}
if [ -n "$optional" ]; then
	echo "setup: installing $(echo $optional | wc -w) packages, which are optional"
	install_optional $optional
fi
[ -z "$absent" ] || echo "setup: this Debian does not have$absent"
