# The table of system calls has all that the kernel's headers name, by the same numbers.
# if: [ -r /usr/include/x86_64-linux-gnu/asm/unistd_64.h ] || { echo "the kernel's headers are not installed"; exit 1; }
$ awk '/#define __NR_/ { print $3, substr($2, 6) }' /usr/include/x86_64-linux-gnu/asm/unistd_64.h | sort > kernel
$ sed -n 's/^CALL(\([0-9]*\), \([a-z0-9_]*\),.*/\1 \2/p' "$TOP/src/collect/runtime/calls.inc" | sort > table; comm -23 kernel table
$ cut -d' ' -f1 table | uniq -d
