# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer wants what is limited here'; false; }
# Limits on addresses and on files are the program's own: pugmark needs more.
$ "$TESTS/process/both" limits
> equal: status 0, 2 lines
$ echo 'ulimit -Sv; ulimit -Hv; ulimit -Sf; ulimit -Hf; cat /proc/self/maps | tail -n 1' > show
+ for l in "-Sv 4000000" "-Sf 100"; do (ulimit $l; sh show | cut -c -20 > native; pugmark run -q -o /dev/null -- sh show | cut -c -20 | cmp - native && grep -c . native); done
> 5
> 5
# Where they cannot be raised it says which, and what is needed. (Who has CAP_SYS_RESOURCE raises them.)
$ for l in "-v 4000000" "-f 100"; do (ulimit $l; pugmark run -q -o /dev/null -- echo traced) 2>&1 | grep -v '^traced$'; done | sed 's/[0-9][0-9]*/N/g' | sort -u > said
+ [ ! -s said ] || cat said; [ -s said ] || printf '%s\n' 'pugmark: tracing needs N GiB, most of which is only reserved; the hard limit on address space (ulimit -v -H) is N KiB' 'pugmark: tracing needs N GiB, most of which is only reserved; the hard limit on the size of files (ulimit -f -H) is N KiB'
> pugmark: tracing needs N GiB, most of which is only reserved; the hard limit on address space (ulimit -v -H) is N KiB
> pugmark: tracing needs N GiB, most of which is only reserved; the hard limit on the size of files (ulimit -f -H) is N KiB
# Files whose names and lines are known are not kept open, by whichever simulator: few may be open.
$ (ulimit -n 24; pugmark run -q --usual --html few.html -- true 2>&1); grep -o '__libc_start_main[a-z_0-9]*' few.html | head -n 1 | cut -c 1-17
> __libc_start_main
# With fewer still a process may have to go on untraced, and why is said.
$ for n in $(seq 6 14); do (ulimit -n $n; pugmark run -q -o /dev/null -- sh -c '/bin/true; /bin/true' 2>&1); done | grep -o 'its memory map cannot be read: .*' | sort -u
> its memory map cannot be read: Too many open files
