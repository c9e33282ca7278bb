# Where ptrace() is refused, as in containers and under other tracers: the runtime loads the program, and what it executes.
# timeout: 240
# (A leak checker needs ptrace(), too.)
$ export ASAN_OPTIONS=detect_leaks=0; R="$PROGRAMS/noptrace"; for p in bare cuts dl exceptions exceptions-static exits faults forks forks-nopie jumps-stripped moved odd segv segv-nopie signals signals-static-pie smc threads threads-static timer vector; do "$R" "$TESTS/process/both" $p; done | sort | uniq -c | sed 's/^ *//'
> 1 equal: status 0, 0 lines
> 3 equal: status 0, 1 lines
> 2 equal: status 0, 10 lines
> 1 equal: status 0, 12 lines
> 2 equal: status 0, 15 lines
> 1 equal: status 0, 2 lines
> 2 equal: status 0, 5 lines
> 1 equal: status 0, 51 lines
> 3 equal: status 0, 6 lines
> 2 equal: status 0, 7 lines
> 2 equal: status 21, 9 lines
> 1 equal: status 3, 1 lines
# It is the same program, and traced alike, but for its stack's beginning. (Whichever of its two processes is stored first.)
$ export ASAN_OPTIONS=detect_leaks=0; trace() { "$@" pugmark run --exec -o x.pug -- "$PROGRAMS/bare" >/dev/null; pugmark verify x.pug | tail -1; pugmark dump x.pug | grep -vE ' (process|time|exec|thread|syscall|sysret) |flags=stack' | sort -s -n -k 1,1; }; trace >want; trace "$PROGRAMS/noptrace" >got; cmp want got; [ $(wc -l <want) -gt 4000 ] && echo long
> long
# The kernel knows where the program is, and where its heap begins: /proc/self says the same as where ptrace() works.
$ export ASAN_OPTIONS=detect_leaks=0; for c in 'grep heap /proc/self/maps' 'cut -d" " -f26,27,45-47 /proc/self/stat' 'cat -- /proc/self/cmdline' 'tail -c 40 /proc/self/environ' 'od -An -v -tx8 -w16 /proc/self/auxv | grep -E "^ 0*[3569] "'; do eval "pugmark run -q -- $c" | tr '\0' ' ' >want; [ -s want ] && eval '"$PROGRAMS/noptrace" pugmark run -q -- '"$c" | tr '\0' ' ' >got; cmp want got && echo same; done
> same
> same
> same
> same
> same
$ ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" pugmark run -q --aslr -- perl -ne '$end = hex $1 if /-(\w+) .*perl/; print hex($1) >= $end && hex($1) < $end + 0x2000000 ? "behind it\n" : $_ if /^(\w+)-.*heap/' /proc/self/maps
> behind it
# What it finds of itself, and what is executed: scripts in scripts, with their arguments; programs that are not there.
$ printf '#!/bin/sh -e\necho script "$0" "$@"\n./inner x "$1"\n' >outer; printf '#!./perl  -e one \nzzz\n' >inner; printf '#!/usr/bin/env -S perl -w\nprint join("|", $0, @ARGV), "\\n";\n' >perl; printf 'echo plain $0 $1\n' >plain; chmod +x outer inner perl plain
$ export ASAN_OPTIONS=detect_leaks=0; for c in './outer a b' './inner q' './plain r' 'sh -c "./plain 2; ./nothing; exec ./nowhere"' 'readlink /proc/self/exe' 'sh -c "exec /proc/self/exe -c pwd"' 'bash -c "exec -a other bash -c \"echo \\\$0; cat /proc/self/comm\""'; do eval "$c" >want 2>&1; echo $?; eval '"$PROGRAMS/noptrace" pugmark run -q -- '"$c" >got 2>&1; echo $?; cmp want got; done | uniq -c | sed 's/^ *//'
> 6 0
> 2 127
> 6 0
$ ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" pugmark run --json r.json -o /dev/null -- sh -c 'ls / | wc -l; true' >/dev/null; grep -c '"program": "/.*/ls"' r.json
> 1
$ printf '#!/no/such\n' >bad; chmod +x bad; ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" pugmark run -q -- ./bad
! pugmark: ./bad: cannot execute: No such file or directory
? 1
