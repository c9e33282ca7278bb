# A pugmark that is killed while it writes to the cache leaves nothing that a later run takes for good, and nothing that is half a file.
# needs: strace perl
$ cat > run.sh <<'E'
+ killed() { at=$1; shift; strace -qq -o tr -e trace=pwrite64,writev,ftruncate,unlinkat,linkat -e inject=$at:signal=KILL pugmark run -q --cache-dir "$PWD/d" -- "$@" > /dev/null 2>&1 < /dev/null; [ $? = 137 ] && n=$((n + 1)); ls -A d | grep -v '^pugmark-'; }
+ check() { pugmark run -q --cache-dir "$PWD/d" -- "$@" > got 2> log < /dev/null; echo $? >> got; cmp want got; cat log; }
+ E
+ . ./run.sh; set -- sh -c 'expr 6 + 7; exit 5'; printf '13\n5\n' > want; n=0; killed getppid:when=9999 "$@"; check "$@"; all() { grep -c "^$1" tr; }
+ for call in pwrite64 unlinkat linkat; do
+ 	rm -rf d; killed getppid:when=9999 "$@"; of=$(all $call); i=0
+ 	for k in $(seq 5); do at=$((1 + of * (k - 1) / 5)); [ $at = $i ] && continue; i=$at; rm -rf d; killed $call:when=$at "$@"; check "$@"; check "$@"; done
+ done; echo $((n > 8))
> 1
# Nor does one that is killed while it adds to a journal, or makes one.
$ . ./run.sh; export PERL_HASH_SEED=0; few='my %h = map { $_ => sprintf "%03d", $_ } 1 .. 20; print join(",", sort values %h), "\n"; $_ = "abc"; print "yes\n" if /b+/; s/b/x/g; print; print "\n"; '
+ more="$few"'print lc("AbC"), ucfirst("xyz"), "\n"; print pack("N", 7) eq "\0\0\0\7", "\n"'; other="$few"'print uc("xyz"), "\n", reverse(1, 2), "\n"'
+ rm -rf d; perl -e "$few" > want; echo 0 >> want; check perl -e "$few"; check perl -e "$few"; cp -a d few; perl -e "$other" > want; echo 0 >> want; check perl -e "$other"; cp -a d added
+ perl -e "$more" > want; echo 0 >> want; n=0; for from in few added; do for at in writev:when=1 writev:when=2 linkat:when=1 unlinkat:when=1; do
+ 	rm -rf d; cp -a $from d; killed $at perl -e "$more"; check perl -e "$more"; check perl -e "$more"; done; done; echo $((n > 2)); ls added | grep -c more
> 1
> 1
# Children that are sent a signal at any moment, before their first instruction, too: SIGSEGV is one of them.
$ for s in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do timeout 20 pugmark run -q -- "$PROGRAMS/medley" $s kills:40 >out; "$PROGRAMS/medley" $s kills:40 | cmp - out; done
