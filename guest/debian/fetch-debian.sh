#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch-debian.sh - an unmodified Debian kernel and busybox for the simulated machine
#
# usage: pugmark machine fetch-debian [DIR]   (default $XDG_CACHE_HOME/pugmark/debian); private-apt.sh stands in front
#
# Fetches linux-image-mips32r2el and busybox-static of Debian 12 for mipsel - the last release with
# that architecture - with apt's own signature checks, in a private apt state below DIR: nothing on the
# host changes, and no root is needed. The kernel is unpacked here, because unpacking itself would
# take the machine two thousand million cycles. DIR then has vmlinux, initramfs.cpio.gz and disk.img.
set -eu
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/pugmark/debian}
suite=bookworm
flavour=mips32r2el
die() { echo "pugmark: fetch-debian: $*" >&2; exit 1; }
needs_programs apt-get apt-cache dpkg-deb xz cpio gzip tar od
private_apt "$dir" mipsel $suite
kernel=$(kernel_of linux-image-$flavour)
test -n "$kernel" || die "linux-image-$flavour names no kernel"
(cd deb && rm -f ./*.deb && apt-get -qq download "$kernel" busybox-static) || die "cannot fetch $kernel and busybox-static"
rm -rf k b root
mkdir k b root root/bin root/dev root/proc root/sys root/tmp root/mod
dpkg-deb -x deb/linux-image-*.deb k
dpkg-deb -x deb/busybox-static_*.deb b

# vmlinuz is a small ELF around an xz stream of the raw kernel, which runs at 0x80100000; the
# unpacker's own constant comes before it
z=$(ls k/boot/vmlinuz-*)
at=$(LC_ALL=C grep -abo '7zXZ' "$z" | tail -n 1 | awk -F: '{ print $1 - 1 }')
test -n "$at" || die "no xz stream in $z"
tail -c +$((at + 1)) "$z" | { xz -dc --single-stream 2>/dev/null || :; } >raw
size=$(wc -c <raw)
test "$size" -gt 1000000 || die "unpacking $z gave only $size bytes"
le32() { printf "\\$(printf %03o $(($1 & 255)))\\$(printf %03o $(($1 >> 8 & 255)))\\$(printf %03o $(($1 >> 16 & 255)))\\$(printf %03o $(($1 >> 24 & 255)))"; }
{
	printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\10\0'
	le32 1; le32 0x80100000; le32 52; le32 0; le32 0x50001001
	printf '\64\0\40\0\1\0\50\0\0\0\0\0'
	le32 1; le32 4096; le32 0x80100000; le32 0x80100000; le32 "$size"; le32 $((size + 0x200000)); le32 7; le32 4096
	head -c $((4096 - 84)) /dev/zero
	cat raw
} >vmlinux
rm -f raw

# initramfs: busybox, and the modules of the disk
cp b/bin/busybox root/bin/
for m in virtio/virtio virtio/virtio_ring virtio/virtio_mmio block/virtio_blk; do
	f=$(find k/lib/modules -path "*/drivers/$m.ko" | head -n 1)
	test -z "$f" || cp "$f" root/mod/
done
cat >root/init <<'EOF'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev 2>/dev/null
for m in virtio virtio_ring virtio_mmio virtio_blk; do
	test -f /mod/$m.ko && /bin/busybox insmod /mod/$m.ko
done
if /bin/busybox grep -q ' single' /proc/cmdline; then
	exec /bin/busybox sh </dev/console >/dev/console 2>&1
fi
cd /tmp && /bin/busybox tar xf /dev/vda && /bin/busybox sh ./work.sh
/bin/busybox poweroff -f
EOF
sed -i '1s,/bin/busybox sh,/bin/busybox sh,' root/init
chmod +x root/init
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 | gzip -9n >../initramfs.cpio.gz)

# the disk is a tar archive: its workload comes through the bus without a file system's module
rm -rf d && mkdir d
awk 'BEGIN { s = 1; for (i = 0; i < 800; i++) { s = (s * 16807) % 2147483647; print i, s, "jackdaws love my big sphinx", s % 89 } }' >d/text
cat >d/work.sh <<'EOF'
b=${WORK_BUSYBOX:-/bin/busybox}
$b md5sum text
$b sort -k 2n text | $b sha1sum
$b gzip -9n <text | $b md5sum
$b awk '{ n += $2 % 1000; w[$NF]++ } END { print n, length(w) }' text
$b sed 's/sphinx/quartz/g' text | $b grep -c quartz
EOF
(cd d && tar cf ../disk.img --owner=0 --group=0 --sort=name --mtime=@0 text work.sh)
n=$(wc -c <disk.img); test $((n % 512)) -eq 0 || truncate -s %512 disk.img
rm -rf k b
echo "$dir has vmlinux ($kernel), initramfs.cpio.gz and disk.img. To run it:"
echo "  pugmark machine run --cpu r4400,isa=mips32r2 --ram 128M --kernel $dir/vmlinux \\"
echo "    --initrd $dir/initramfs.cpio.gz --disk $dir/disk.img --append 'console=ttyS0,115200 cryptomgr.notests=1'"
