# Processes that start and execute others: each is replayed, and the order of what they print is that of the waits.
# needs: make bash perl
# timeout: 120
$ "$TESTS/record/again" /usr/bin/sh -c 'exec echo hello'
> status 0, 1 lines again
$ seq 1 30 > n.in; "$TESTS/record/again" bash -c 'for i in 1 2 3; do echo $(expr $i + 1) $$ $BASHPID | cat; done; sort -r n.in | head -n 3; (exit 4)'
> status 4, 6 lines again
$ "$TESTS/record/again" perl -e 'print `date`; system("echo hi"); if (fork() == 0) { print "child $$\n"; exit 5 } wait; print $? >> 8, "\n"'
> status 0, 4 lines again
$ echo 'int main(void) { return 3; }' > a.c.in; "$TESTS/record/again" /usr/bin/sh -c 'cp a.c.in a.c; gcc -O1 -o a a.c && ./a; echo $?'
> status 0, 1 lines again
$ printf 'all: a b\na b:\n\tdate > $@; cat $@\n' > make.in; "$TESTS/record/again" -s make -s -j2 -f make.in
> status 0, 2 lines again
# Two replays are the same, process by process, with the numbers that processes had.
$ pugmark record -o r.pugrec -- sh -c 'echo a | cat; /bin/echo $$'  | head -n 1
> a
$ pugmark replay -q --no-output -o x.%p.pug r.pugrec; mkdir 1 && mv x.*.pug 1; pugmark replay -q --no-output -o x.%p.pug r.pugrec; mkdir 2 && mv x.*.pug 2; ls 1 > a; ls 2 | cmp - a && wc -l < a
> 4
$ for p in $(cat a); do for d in 1 2; do pugmark dump $d/$p | grep -v ' time ' > $d.text; done; cmp 1.text 2.text && echo equal; done
> equal
> equal
> equal
> equal
