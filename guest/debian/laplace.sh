#!/bin/sh
# SPDX-License-Identifier: MIT
# laplace.sh - Laplace's module for the Debian kernel that fetch-debian.sh fetched
#
# usage: guest/debian/laplace.sh DIR     DIR: where that is
#
# Fetches the kernel's headers from Debian, in the private apt state of DIR, and the tools to build modules
# for this machine; nothing is installed. The kernel stays as it is. DIR then has initramfs-laplace.cpio.gz:
# the same as initramfs.cpio.gz, and an init that loads the module, provokes every event and does the work.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
dir=$PWD
die() { echo "laplace.sh: $*" >&2; exit 1; }
image=$(ls deb/linux-image-*.deb) || die "fetch Debian first: pugmark machine fetch-debian $dir"
release=${image#*linux-image-}
release=${release%%_*}
common=${release%-*}-common
if ! test -f "headers/$release"; then
	printf '%-6s %s\n' FETCH "linux-headers-$release"
	rm -rf headers
	mkdir -p headers
	(cd headers && export APT_CONFIG="$dir/apt/apt.conf" &&
		apt-get -qq download "linux-headers-$release" "linux-headers-$common") ||
		die "cannot fetch linux-headers-$release"
	(cd headers && apt-get -qq -o APT::Sandbox::User=root download linux-kbuild-6.1) || die "cannot fetch linux-kbuild-6.1"
	for d in headers/*.deb; do dpkg-deb -x "$d" headers; done
	sed -i "s|/usr/src/|$dir/headers/usr/src/|" "headers/usr/src/linux-headers-$release/Makefile"
	rm -f headers/*.deb
	touch "headers/$release"
fi
"$here/../linux/laplace/build.sh" "$dir/laplace" "$dir/headers/usr/src/linux-headers-$release"

rm -rf over
mkdir -p over/bin
cp laplace/laplace.ko over/
cp laplace/provoke over/bin/
sed 's|^cd /tmp .*|/bin/busybox insmod /laplace.ko\
/bin/provoke counts\
/bin/provoke\
cd /tmp \&\& /bin/busybox tar xf /dev/vda \&\& /bin/busybox sh ./work.sh\
/bin/provoke counts\
/bin/busybox rmmod laplace|' root/init >over/init
chmod +x over/init
(cd over && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 | gzip -9n) | cat initramfs.cpio.gz - >initramfs-laplace.cpio.gz
printf '%-6s %s\n' DONE "$dir: initramfs-laplace.cpio.gz"
