# Real programs, recorded and replayed: without the files that they read, in another environment, with and without a
# trace. What they print again is what they printed, and registers are compared at every system call.
# needs: gzip perl sqlite3 xz awk
# timeout: 120
$ seq 1 60000 > numbers.in; "$TESTS/record/again" gzip -9 -n -c numbers.in
> status 0, 240 lines again
$ "$TESTS/record/again" xz -c numbers.in | sed 's/[0-9]* lines/N lines/'	# versions of xz differ
> status 0, N lines again
$ "$TESTS/record/again" awk '{ n += $1 } END { srand(); print n, rand(), ENVIRON["HOME"] }' numbers.in
> status 0, 1 lines again
$ "$TESTS/record/again" perl -e 'print time, " $$ ", rand(), "\n"; open(F, "numbers.in"); @a = <F>; print scalar(@a), "\n"; exit 3'
> status 3, 2 lines again
$ "$TESTS/record/again" sqlite3 t.db 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c limit 20000) insert into t select x, random() from c; create index i on t(b); select count(*), min(b), datetime() from t;'
> status 0, 1 lines again
$ "$TESTS/record/again" /usr/bin/sh -c 'echo $$; read a < numbers.in; echo $a > f; cat=$(($a + 1)); echo $cat; ulimit -n; umask; cd /; pwd'
> status 0, 5 lines again
$ "$TESTS/record/again" sort -r numbers.in
> status 0, 60000 lines again
# Calls that fail for a hole, and do what they can all the same.
$ cat > hole.c <<'end'
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ int main(void) { char *p = mmap(0, 5 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(p, 1, 5 * 4096); munmap(p + 2 * 4096, 4096); int a = madvise(p, 5 * 4096, MADV_DONTNEED); printf("%d %d %d\n", a, p[0], p[4 * 4096]); p[0] = 2; a = mprotect(p, 5 * 4096, PROT_READ); printf("%d %d\n", a, mprotect(p, 4096, PROT_READ | PROT_WRITE)); p[0] = 3; p[4 * 4096] = 4; return 0; }
+ end
$ gcc -o hole.in hole.c && ./hole.in && "$TESTS/record/again" ./hole.in
> -1 0 0
> -1 0
> status 0, 2 lines again
