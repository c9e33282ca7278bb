# SPDX-License-Identifier: MIT
# private-apt.sh - apt with a state of its own, for scripts that source it (one is part of pugmark: cmd_machine.c)
#
# The script defines die(). Nothing on the host changes, no root is needed, and signatures are checked as ever.
#
#   needs_programs PROGRAM...          dies where one is missing
#   private_apt DIR ARCH SUITE...      in DIR, which is made: apt knows these suites, and packages of ARCH
#   kernel_of PACKAGE                  the kernel's package that a meta package names
key=/usr/share/keyrings/debian-archive-keyring.gpg
needs_programs() {
	for p in "$@"; do
		command -v "$p" >/dev/null || die "$p is missing"
	done
	test -f $key || die "$key is missing (package debian-archive-keyring)"
}
private_apt() {
	mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial" "$1/deb"
	cd "$1"
	dir=$PWD arch=$2
	shift 2
	: >apt/status
	cat >apt/apt.conf <<EOF
Dir::State::status "$dir/apt/status";
Dir::State::Lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache";
Dir::Etc::SourceList "$dir/apt/sources.list";
Dir::Etc::SourceParts "-";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
EOF
	for s; do
		echo "deb [arch=$arch signed-by=$key] http://deb.debian.org/debian $s main"
	done >apt/sources.list
	export APT_CONFIG="$dir/apt/apt.conf"
	apt-get -qq update || die "cannot fetch the package lists of $1"
}
# The real package's name carries an ABI number that moves: the meta package knows it.
kernel_of() {	# META-PACKAGE
	apt-cache depends "$1" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}
