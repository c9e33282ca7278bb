#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh - laplace.ko and provoke for a kernel of the machine
#
# usage: guest/linux/laplace/build.sh DIR KERNEL     KERNEL: a built kernel's sources, or Debian's headers
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cross=${CROSS:-mipsel-linux-gnu-}
mkdir -p "$1"
dir=$(cd "$1" && pwd) kernel=$(cd "$2" && pwd)
stamp=$(cat "$here/laplace.c" "$here/provoke.c" "$kernel/Module.symvers" | cksum)
test "$stamp" = "$(cat "$dir/stamp" 2>/dev/null)" && exit 0
printf '%-6s %s\n' MAKE laplace.ko
cp "$here/laplace.c" "$dir/"
echo 'obj-m := laplace.o' >"$dir/Makefile"
make -s -C "$kernel" ARCH=mips CROSS_COMPILE="$cross" M="$dir" modules >"$dir/log" 2>&1 </dev/null ||
	{ tail -n 20 "$dir/log" >&2; exit 1; }
"${cross}strip" -d "$dir/laplace.ko"
# MIPS II: what the R4400 and Debian's kernel both run
"${cross}gcc" -march=mips2 -mabi=32 -mno-abicalls -fno-pic -G0 -O1 -ffreestanding -fno-builtin -fno-stack-protector \
	-nostdlib -static -s -Wall -Wextra -Wl,--build-id=none -o "$dir/provoke" "$here/provoke.c"
echo "$stamp" >"$dir/stamp"
