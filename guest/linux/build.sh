#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh - Linux for the R4400 board: vmlinux, an initramfs and a disk image from Debian packages
#
# usage: guest/linux/build.sh [DIR]     DIR: the cache (default $XDG_CACHE_HOME/pugmark/guest)
#
# Takes from Debian: linux-source-6.1 and gcc-mipsel-linux-gnu (installed packages), and the sources
# of musl, busybox, dash, lua5.4 and bzip2 (fetched by apt-get source into the cache when they are not
# there yet). What is done once is not done again; nothing is written outside DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/pugmark/guest}
cross=${CROSS:-mipsel-linux-gnu-}
jobs=${JOBS:-2}
mkdir -p "$dir"
cd "$dir"

log=$dir/build.log
: >"$log"
# What it does is said in one line; what tools say goes into the log, whose end is shown if one fails.
say() { printf '%-6s %s\n' "$1" "$2"; }
trap 'test $? = 0 || { tail -n 20 "$log"; echo "build.sh: failed; all of it is in $log"; } >&2' EXIT
need() { command -v "$1" >/dev/null || { echo "build.sh: $1 is missing: apt-get install $2" >&2; exit 1; }; }
need "${cross}gcc" gcc-mipsel-linux-gnu
command -v mke2fs >/dev/null || PATH=$PATH:/sbin:/usr/sbin
need mke2fs e2fsprogs; need flex flex; need bison bison; need bc bc; need cpio cpio; need patch patch; need xz xz-utils

# ---- the kernel ----
cat "$here/common.frag" "$here/generic.frag" >config.wanted
if ! test -f vmlinux || ! cmp -s config.wanted config.built; then
	rm -f vmlinux
	tar=$(ls /usr/src/linux-source-6.1.tar.xz 2>/dev/null || :)
	test -n "$tar" || { echo "build.sh: linux-source-6.1 is missing: Debian 12 has it" >&2; exit 1; }
	say UNPACK "$tar"
	rm -rf linux-source-6.1
	tar xf "$tar"
	cd linux-source-6.1
	say MAKE "vmlinux (some minutes)"
	patch -s -p1 <"$here/linux-6.1.patch"
	cp "$here/citcat.c" "$here/../citcat/citcat-begin.S" arch/mips/kernel/
	{
		make -s ARCH=mips CROSS_COMPILE="$cross" tinyconfig
		scripts/kconfig/merge_config.sh -m .config "$here/common.frag" "$here/generic.frag"
		make -s ARCH=mips CROSS_COMPILE="$cross" olddefconfig
		nice -n 10 make -s -j"$jobs" ARCH=mips CROSS_COMPILE="$cross" vmlinux
	} >>"$log" 2>&1 </dev/null
	"${cross}strip" -o ../vmlinux.tmp vmlinux
	cp System.map ../System.map
	cp vmlinux.symvers Module.symvers
	cp ../config.wanted ../config.built
	mv ../vmlinux.tmp ../vmlinux
	cd ..
fi

# ---- sources of the user programs: a private apt state, the host's is not touched ----
fetch() {	# package
	test ! -d "src-$1" || return 0
	say FETCH "$1"
	mkdir -p apt/lists/partial apt/cache/archives/partial
	test -f apt/sources.list ||
		echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" >apt/sources.list
	aptopts="-o Dir::Etc::SourceList=$dir/apt/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$dir/apt/lists -o Dir::Cache=$dir/apt/cache"
	test -f apt/updated || { apt-get -q $aptopts update >>"$log" 2>&1 && touch apt/updated; }
	rm -rf tmp-src
	mkdir tmp-src
	(cd tmp-src && apt-get -q $aptopts source --download-only "$1" >>"$log" 2>&1 &&
		rm -f ./*.asc && tar xf ./*.orig.tar.* && rm -f ./*.tar.* ./*.dsc)
	mv tmp-src/* "src-$1"
	rmdir tmp-src
}

# ---- user programs: MIPS III, o32, static against musl. Debian's libgcc is mips32r2: never linked ----
ucc="${cross}gcc -march=mips3 -mabi=32 -mfp32 -EL"
if ! test -f musl/lib/libc.a; then
	fetch musl
	say MAKE musl
	(cd src-musl && CC="$ucc" ./configure --target=mipsel --prefix="$dir/musl" --disable-shared --disable-gcc-wrapper LIBCC=" " >>"$log" 2>&1 &&
		make -s -j"$jobs" AR="${cross}ar" RANLIB="${cross}ranlib" >>"$log" 2>&1 &&
		make -s AR="${cross}ar" RANLIB="${cross}ranlib" install >>"$log" 2>&1)
	$ucc -O2 -fno-builtin -c -o musl/lib/rt64.o "$here/rt64.c"
	"${cross}ar" rcs musl/lib/librt64.a musl/lib/rt64.o
fi
cat >mcc.tmp <<EOF
#!/bin/sh
# compile and link for the R4400: made by build.sh
link=1
for a; do case \$a in -c|-S|-E|-M|-MM|-r) link=;; esac; done
if test -n "\$link"; then
	exec $ucc -nostdinc -isystem $dir/musl/include -isystem $dir/linux-headers/include -nostdlib -static $dir/musl/lib/crt1.o $dir/musl/lib/crti.o "\$@" -L$dir/musl/lib -Wl,--start-group -lc -lrt64 -Wl,--end-group $dir/musl/lib/crtn.o
fi
exec $ucc -nostdinc -isystem $dir/musl/include -isystem $dir/linux-headers/include "\$@"
EOF
chmod +x mcc.tmp && mv mcc.tmp mcc
if ! test -d linux-headers/include; then
	make -s -C linux-source-6.1 ARCH=mips CROSS_COMPILE="$cross" INSTALL_HDR_PATH="$dir/linux-headers" headers_install >>"$log" 2>&1
fi
if ! test -f bin/busybox; then
	fetch busybox
	say MAKE busybox
	mkdir -p bin
	(cd src-busybox && make -s defconfig >>"$log" 2>&1 </dev/null &&
		sed -i -e 's/.*CONFIG_STATIC[ =].*/CONFIG_STATIC=y/' -e 's/^CONFIG_TC=y/# CONFIG_TC is not set/' \
			-e 's/^CONFIG_FEATURE_HAVE_RPC=y/# CONFIG_FEATURE_HAVE_RPC is not set/' \
			-e 's/^CONFIG_\(FEATURE_MOUNT_NFS\|FEATURE_INETD_RPC\|PAM\|SELINUX\)=y/# CONFIG_\1 is not set/' .config &&
		make -s -j"$jobs" CC="$dir/mcc" AR="${cross}ar" STRIP="${cross}strip" NM="${cross}nm" SKIP_STRIP=y busybox \
			HOSTCC=gcc CONFIG_EXTRA_LDLIBS= >>"$log" 2>&1)
	"${cross}strip" -o bin/busybox src-busybox/busybox
fi
if ! test -f bin/dash; then
	fetch dash
	say MAKE dash
	(cd src-dash && { test -f configure || ./autogen.sh >>"$log" 2>&1; } &&
		CC="$dir/mcc" ./configure --host=mipsel-linux-musl --build="$(gcc -dumpmachine)" >>"$log" 2>&1 &&
		make -s CC="$dir/mcc" CC_FOR_BUILD=gcc >>"$log" 2>&1)
	"${cross}strip" -o bin/dash src-dash/src/dash
fi
if ! test -f bin/lua; then
	fetch lua5.4
	say MAKE lua5.4
	(cd src-lua5.4/src && make -s generic CC="$dir/mcc -std=gnu99" AR="${cross}ar rcu" RANLIB="${cross}ranlib" MYLIBS= lua >>"$log" 2>&1)
	"${cross}strip" -o bin/lua src-lua5.4/src/lua
fi
if ! test -f bin/bzip2; then
	fetch bzip2
	say MAKE bzip2
	(cd src-bzip2 && make -s bzip2 CC="$dir/mcc" AR="${cross}ar" RANLIB="${cross}ranlib" >>"$log" 2>&1)
	"${cross}strip" -o bin/bzip2 src-bzip2/bzip2
fi

# ---- Laplace: the module that reports what the kernel does, and a program that provokes all of it ----
"$here/laplace/build.sh" "$dir/laplace" "$dir/linux-source-6.1"

# ---- the initramfs: a disk with the programs is mounted, traced work is done, the power goes off ----
rm -rf root
mkdir -p root/bin root/dev root/proc root/sys root/mnt root/tmp root/etc
cp bin/busybox root/bin/busybox
cp laplace/laplace.ko root/
cp laplace/provoke root/bin/
for a in sh mount umount echo cat poweroff mkdir ls md5sum sha1sum sort wc head tail grep sed cp sync cmp sleep dd uname \
	insmod rmmod; do
	ln -sf busybox root/bin/$a
done
cp "$here/init" root/init
chmod +x root/init
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 --reproducible | gzip -9n >../initramfs.cpio.gz)

# ---- the disk: programs and their input, read through the bus ----
rm -rf disk
mkdir -p disk/bin disk/data
cp bin/busybox bin/dash bin/lua bin/bzip2 disk/bin/
cp "$here"/work.sh "$here"/work.lua disk/
awk 'BEGIN { s = 1; for (i = 0; i < 1500; i++) { s = (s * 16807) % 2147483647; print i, s, "the quick brown fox", s % 97 } }' >disk/data/text
mke2fs -q -t ext2 -b 1024 -d disk -F disk.img 8192
say DONE "$dir: vmlinux, initramfs.cpio.gz, disk.img"
