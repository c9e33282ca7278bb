# SPDX-License-Identifier: MIT
# chroot.sh - minimal Debians in directories, for scripts that source it; as root, with mmdebstrap and the network
#
#   chroot_open SUITE DIR       makes one in the empty DIR, with /dev, /proc and /sys
#   chroot_close DIR            unmounts and removes it; not if something there is still mounted
#   chroot_run DIR USER COMMAND what the user's login shell does, without input
#
# FRESH_BASE=FILE.tar: a minimal Debian that is there already.

chroot_open() {
	if [ -n "${FRESH_BASE:-}" ]; then
		tar -xpf "$FRESH_BASE" -C "$2"
	else
		mmdebstrap --quiet --variant=minbase "$1" "$2"
	fi
	chmod 755 "$2"
	# apt reaches what this machine reaches.
	cp /etc/resolv.conf "$2/etc/resolv.conf" 2>/dev/null || true
	cp -r /etc/apt/apt.conf.d/. "$2/etc/apt/apt.conf.d/" 2>/dev/null || true
	mount --bind /dev "$2/dev"
	mount --make-private "$2/dev"	# or what is mounted there would be on this machine's /dev, too
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$2/dev/pts" 2>/dev/null || true
	mount -t proc proc "$2/proc"
	mount -t sysfs -o ro sysfs "$2/sys"
}

chroot_close() {
	# what the last command has left behind may need a moment to end
	tries=50
	while
		for m in dev/pts dev proc sys; do
			umount "$1/$m" 2>/dev/null || true
		done
		grep -qs " $1/" /proc/mounts && [ $tries -gt 0 ]
	do
		tries=$((tries - 1))
		sleep 0.2
	done
	if grep -qs " $1/" /proc/mounts; then
		echo "$1 is still in use" >&2
	else
		rm -rf --one-file-system "$1"
	fi
}

chroot_run() {
	chroot "$1" /bin/su -s /bin/sh - "$2" -c "$3" </dev/null
}
