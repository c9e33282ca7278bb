# SPDX-License-Identifier: MIT
# work.sh - the same work on the guest and on the host; only its standard output counts
# On the host: PATH has dash, lua, bzip2 and a busybox; run in a copy of the disk.
bin=${WORK_BIN:-/mnt/bin}
tmp=${WORK_TMP:-/tmp}
$bin/busybox md5sum data/text
$bin/dash -c 'n=0; i=0; while [ $i -lt 3000 ]; do n=$((n + i * 7 % 13)); i=$((i + 1)); done; echo dash $n'
$bin/lua work.lua
$bin/bzip2 -c data/text >$tmp/text.bz2
$bin/busybox sha1sum <$tmp/text.bz2
$bin/bzip2 -dc $tmp/text.bz2 | $bin/busybox cmp - data/text && echo bzip2 same
$bin/busybox head -n 300 data/text | $bin/busybox sort -k4n -k2n | $bin/busybox tail -n 2
$bin/busybox sed 's/quick/slow/; s/ the / a /' data/text | $bin/busybox grep -c slow
cp $tmp/text.bz2 copy.bz2
$bin/busybox md5sum copy.bz2
