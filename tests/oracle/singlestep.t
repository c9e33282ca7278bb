# The single-stepper against a program whose instructions were counted by hand (bare.S).
$ "$BUILD/tests/oracle/singlestep" -r -s s -c c -d d -o sum -- "$PROGRAMS/bare"
> good
$ sed 's,[^ ]*/,,' sum
> 1 bare: 3056 instructions, 103 rep iterations, 1 threads
# The loop: three instructions a thousand times. rep stosb: 100 iterations, then none; rep stosd: 3.
$ awk '$2 == 1000 { n++ } $2 == 2 { handler++ } NF == 3 { print $2, $3 } { sum += $2 } END { print n, handler, sum }' c.1
> 1 100
> 1 0
> 1 3
> 3 4 3056
# References: the strings, pushfq and its pop, two increments and returns in the handler, the compare.
$ awk '{ k[$3 " " $5]++ } END { for (i in k) print i, k[i] }' d.1.1 | sort
> m 4 2
> r 4 1
> r 8 3
> w 1 100
> w 4 3
> w 8 1
# Two runs are equal, with and without a change of the processor.
$ "$BUILD/tests/oracle/singlestep" -r -p 0 -s t -c e -o sum -- "$PROGRAMS/bare"
+ "$BUILD/tests/oracle/streamdiff" s.1.1 t.1.1 && "$TESTS/oracle/compare-counts" -i c.1 e.1
> good
> equal: 3056 instructions
> equal: 3056 instructions at 55 addresses
# A difference is found and shown.
$ head -c 800 s.1.1 > u; printf '\1\0\0\0\0\0\0\0' >> u; "$BUILD/tests/oracle/streamdiff" s.1.1 u | tail -n 3
>   0x401008
> s.1.1: 0x40100b 0x40100d 0x401008 0x40100b 0x40100d 0x401008 ...
> u: 0x1 (end)
$ sed '4s/1000/999/' c.1 > f; "$TESTS/oracle/compare-counts" c.1 f
> 1 addresses differ; c.1: 3056 instructions, f: 3055
>   0x401008: 1000, 999
? 1
# Exit status and deaths are the program's own.
$ "$BUILD/tests/oracle/singlestep" -o sum -- "$PROGRAMS/exits-static" 7
> about to end: 7
> atexit
? 7
$ exec "$BUILD/tests/oracle/singlestep" -o sum -- "$PROGRAMS/exits-static" segv
> about to end: segv
? 139
# exec, fork: every process image is counted by itself.
$ echo 'int execve(char *, char **, char **); int main(int c, char **v) { return execve(v[1], v + 1, v + c); }' | gcc -O1 -static -xc -o other -
+ "$BUILD/tests/oracle/singlestep" -f -o sum -- ./other "$PROGRAMS/bare"
+ sed 's,^1.*,1,;s, /.*/, ,' sum
> good
> 1
> 2 bare: 3056 instructions, 103 rep iterations, 1 threads
> 3 bare: 5 instructions, 0 rep iterations, 1 threads
