#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-x86.sh - an unmodified Debian for x86 guests, and a QEMU that takes pugmark's plug-in
#
# usage: guest/debian/fetch-x86.sh amd64|i386 DIR
#
# Fetches linux-image-cloud-amd64 (i386: linux-image-686) and busybox-static of Debian 12, and QEMU 10 of
# its backports unless the one that is installed will do, with apt's own signature checks, in a private apt
# state below DIR: nothing on the host changes, and no root is needed. DIR then has vmlinuz,
# initramfs.cpio.gz and qemu-system-x86_64 (qemu-system-i386). QEMU's libraries are the host's, so another
# release than Debian 12 has to have a QEMU 10 of its own.
set -eu
die() { echo "fetch-x86: $*" >&2; exit 1; }
usage='usage: guest/debian/fetch-x86.sh amd64|i386 DIR'
dir=${2:?$usage}
case $1 in
amd64) debian=amd64 guest=x86_64 flavour=cloud-amd64 ;;
i386) debian=i386 guest=i386 flavour=686 ;;
*) die "$usage" ;;
esac
suite=bookworm
qemu=qemu-system-$guest
. "$(dirname "$0")/private-apt.sh"
needs_programs apt-get apt-cache dpkg-deb cpio gzip
mkdir -p "$dir"
cd "$dir"
dir=$PWD
rm -rf k b q root deb
mkdir k b q root root/bin root/dev root/proc root/sys root/tmp

# QEMU: its files refer to each other by absolute paths, which -L replaces
ours=$($qemu --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
if [ "${ours:-0}" -ge 10 ]; then
	printf '#!/bin/sh\nexec %s "$@"\n' $qemu >$qemu
else		# it is a program of this machine, whatever the guest is
	private_apt "$dir" amd64 $suite-backports $suite
	v=$(apt-cache madison qemu-system-x86 | awk '/backports/ { print $3; exit }')
	test -n "$v" || die "$suite-backports has no qemu-system-x86"
	(cd deb && apt-get -qq download "qemu-system-x86=$v" "qemu-system-common=$v" "qemu-system-data=$v" seabios) ||
		die "cannot fetch QEMU $v"
	for p in deb/qemu-*.deb deb/seabios_*.deb; do dpkg-deb -x "$p" q; done
	cat >$qemu <<EOF
#!/bin/sh
exec $dir/q/usr/bin/$qemu -L $dir/q/usr/share/qemu -L $dir/q/usr/share/seabios "\$@"
EOF
fi
chmod +x $qemu
./$qemu --version >/dev/null || die "QEMU does not run here: are libraries missing? Install qemu-system-x86"

private_apt "$dir" $debian $suite
kernel=$(kernel_of linux-image-$flavour)
test -n "$kernel" || die "linux-image-$flavour names no kernel"
(cd deb && apt-get -qq download "$kernel" busybox-static) || die "cannot fetch $kernel and busybox-static"
dpkg-deb -x deb/linux-image-*.deb k
dpkg-deb -x deb/busybox-static_*.deb b
cp k/boot/vmlinuz-* vmlinuz
cp "$(find b -path "*/bin/busybox" -type f | head -n 1)" root/bin/busybox

# the same work on the guest and on the host: only what it prints counts
cat >root/work.sh <<'EOF'
b=${WORK_BUSYBOX:-/bin/busybox}
$b seq 1 3000 >$WORK_TMP/numbers
$b md5sum <$WORK_TMP/numbers
$b sort -r $WORK_TMP/numbers | $b sha1sum
$b gzip -9n <$WORK_TMP/numbers | $b md5sum
$b awk '{ n += $1 * 7 % 13 } END { print n }' $WORK_TMP/numbers
EOF
cat >root/init <<'EOF'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
echo 'work begins'
WORK_TMP=/tmp /bin/busybox sh /work.sh
echo 'work ends'
/bin/busybox sed -n 's/^pgfault/counted pgfault/p' /proc/vmstat
/bin/busybox awk '/^ctxt|^processes/ { print "counted", $1, $2 }' /proc/stat
/bin/busybox poweroff -f
EOF
chmod +x root/init
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 | gzip -9n >../initramfs.cpio.gz)
rm -rf k b
echo "$dir has vmlinuz ($kernel), initramfs.cpio.gz and $qemu. To run it:"
echo "  pugmark machine run --guest $guest --qemu $dir/$qemu --kernel $dir/vmlinuz \\"
echo "    --initrd $dir/initramfs.cpio.gz --append 'console=ttyS0 quiet' -o boot.pug"
