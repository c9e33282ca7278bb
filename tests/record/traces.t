# What a replay executes: the same in every replay, and what the single-stepper sees of the program itself.
# timeout: 180
$ cat > p.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ int main(int argc, char **argv) { char b[64]; long n = 0; FILE *f = fopen(argv[1], "r"); while (fgets(b, sizeof b, f)) n += atol(b) * (long)strlen(b); printf("%ld\n", n); return 7; }
+ end
$ gcc -O1 -o p p.c && seq 1 3000 > n.in
$ pugmark record -o r.pugrec -- ./p n.in; echo $?; rm n.in
> 22003005
> 7
$ pugmark replay -q --no-output -o 1.pug r.pugrec; pugmark replay -q -o 2.pug r.pugrec; pugmark dump 1.pug > 1; pugmark dump 2.pug > 2; grep -v ' time ' 1 > 1.d; grep -v ' time ' 2 > 2.d; cmp 1.d 2.d && echo equal
> 22003005
> equal
# The values that it printed are in the recording, not in the file, which is gone.
# Instructions are as many in a profile, a trace and a count.
$ pugmark replay --no-output r.pugrec 2>&1 | awk '$1 == "instructions" { gsub(",", "", $2); print $2 > "a" }'; pugmark replay --no-output --count r.pugrec 2>&1 | awk '$1 == "instructions" { gsub(",", "", $2); print $2 > "b" }'; grep -c ' insn ' 1 > c; cat a b c | uniq | wc -l
> 1
# Who only counts gets no addresses from a live trace, a file has them all: as many events of each kind in each thread.
$ head -c 30000 /bin/sh > in; pugmark record -q -o t.pugrec -- zstd -q -5 -T2 -c in > z
$ pugmark replay -q --no-output --exec --count --csv - t.pugrec | grep '^count' > live; pugmark replay -q --no-output -o t.pug t.pugrec; pugmark sim -s count --csv - t.pug | grep '^count' > stored
$ diff live stored && awk -F, '$1 == "count.instructions" { print ($2 > 1e6) } $1 == "count.streams[2].instructions" { print ($2 > 100) } $1 == "count.kinds.rep-iter" { print ($2 > 10) }' live; rm in z t.pug* live stored
> 1
> 1
> 1
