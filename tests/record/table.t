# The tables of system calls have all that the kernel's headers name, by the same numbers.
# if: [ -r /usr/include/x86_64-linux-gnu/asm/unistd_64.h ] || { echo "the kernel's headers are not installed"; exit 1; }
$ awk '/#define __NR_/ { print $3, substr($2, 6) }' /usr/include/x86_64-linux-gnu/asm/unistd_64.h | sort > kernel
$ sed -n 's/^CALL(\([0-9]*\), \([a-z0-9_]*\),.*/\1 \2/p' "$TOP/src/collect/runtime/calls.inc" | sort > table; comm -23 kernel table
$ cut -d' ' -f1 table | uniq -d
# Those of 32-bit programs, likewise.
$ awk '/#define __NR_/ { print $3, substr($2, 6) }' /usr/include/x86_64-linux-gnu/asm/unistd_32.h | sort > kernel32
$ sed -n 's/^CALL(\([0-9]*\), \([a-z0-9_]*\),.*/\1 \2/p' "$TOP/src/collect/runtime/calls32.inc" | sort > table32; comm -23 kernel32 table32
$ cut -d' ' -f1 table32 | uniq -d
# What both have by the same name is done in the same way, but for what 32-bit programs do otherwise.
$ for t in calls calls32; do sed -n 's/^CALL([0-9]*, \([a-z0-9_]*\), \([A-Z]*\).*/\1 \2/p' "$TOP/src/collect/runtime/$t.inc" | sort > $t; done; join calls calls32 | awk '$2 != $3'
> get_thread_area REFUSED PLAIN
> modify_ldt REFUSED SUB
> select PLAIN SUB
> set_thread_area REFUSED SUB
