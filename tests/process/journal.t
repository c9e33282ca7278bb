# What a run has to add to a large file of translations is kept beside it, unless it is a quarter of it (as Perl's pack() may
# be), and the next one finds everything there. When that has been as much work as writing the whole, it is written.
$ cat > run.sh <<'E'
+ export PERL_HASH_SEED=0
+ few='my %h = map { $_ => sprintf "%03d", $_ } 1 .. 20; print join(",", sort values %h), "\n"; $_ = "abc"; print "yes\n" if /b+/; s/b/x/g; print; print "\n"; '
+ more="$few"'print lc("AbC"), ucfirst("xyz"), "\n"; print join(":", splice(@{[1 .. 9]}, 2, 3)), substr("abcdef", 2, 2), "\n"'
+ other="$few"'print join(":", splice(@{[1 .. 9]}, 2, 3)), "\n"; print uc("xyz"), "\n", reverse(1, 2), "\n"'
+ run() { pugmark run -q --cache-dir "$PWD/g" --json j -- perl -e "$@" > out; grep -o '"demand": *[0-9]*' j | tr -dc 0-9; }
+ files() { ls g | grep more; }
+ file() { ls -iS g/pugmark-code-* | head -1; }
+ E
+ . ./run.sh; run "$few" > base; run "$few" > base; base=$(cat base); files; cp -a g few; file > before; perl -e "$more" > native
+ run "$more" > first; echo $(($(cat first) > base)); cmp native out; files | wc -l; file | cmp - before; cp -a g added
+ for i in $(seq 100); do now=$(run "$more"); [ "$now" = "$base" ] || echo "$now, not $base"; [ "$(files)" ] || break; done; echo $((i > 2)) $((i < 100)); file | cmp -s - before || echo written
+ [ "$(run "$more")" = "$base" ] && [ "$(run "$few")" = "$base" ] && echo everything
> 1
> 1
> 1 1
> written
> everything
# (2) of cache/journal.h: counts with what is taken from there are those without a cache, also of a program that goes other ways through it.
$ . ./run.sh; for p in "$more" "$other" "$few"; do
+ 	rm -rf g; cp -a added g
+ 	for i in 1 2; do pugmark run -q --no-vdso --no-follow --fix-random --cache-dir "$PWD/g" --counts b -- perl -e "$p" > out.b; done
+ 	pugmark run -q --no-vdso --no-follow --fix-random --no-cache --counts a -- perl -e "$p" > out.a; cmp out.a out.b
+ 	"$TESTS/oracle/compare-counts" a.* b.* | sed 's/:.*//'; rm -f a.* b.*
+ done
> equal
> equal
> equal
# What is damaged, cut short, what others can write or another file than it seems is not believed, and where it can be, it is replaced.
$ . ./run.sh; size=$(cat added/pugmark-more-* | wc -c)
+ for at in 3 8 16 40 70 90 100 110 $(seq 150 $((size / 16)) $size); do rm -rf g; cp -a added g
+ 	printf '\377\003\200' | dd of=$(ls g/pugmark-more-*) bs=1 seek=$((at - 3)) conv=notrunc status=none
+ 	run "$more" > log; cmp out native; run "$more" > log; cmp -s log base || echo "at $at: for ever"
+ done
+ for n in 0 1 60 70 100 $((size / 2)) $((size - 1)); do rm -rf g; cp -a added g; truncate -s $n g/pugmark-more-*; run "$more" > log; cmp out native; run "$more" > log; cmp log base; done
+ rm -rf g; cp -a added g; chmod 666 g/pugmark-more-*; run "$more" 2> said > log; sed 's/.*removed/removed/' said; echo $(($(cat log) > $(cat base))); cmp out native; run "$more" > log; cmp log base
+ rm -rf g; cp -a added g; rm $(file | sed 's/^ *[0-9]* //'); run "$more" > log; cmp out native; files; run "$more" > log; cmp log base
+ rm -rf g; cp -a few g; mkdir -p "g/$(basename added/pugmark-more-*)/x"; run "$more" > log; cmp out native; run "$more" > log; cmp log base
+ for what in mkfifo "ln -s there"; do rm -rf g; cp -a added g; f=$(ls g/pugmark-more-*); rm $f; $what $f; run "$more" 2> said > log; sed 's/.*removed/removed/' said; cmp out native; run "$more" > log; cmp log base; done
> removed from the cache: others own it or can write to it
> 1
> removed from the cache: it is not a regular file
> removed from the cache: it is not a regular file
# Several that add to it at once: each finds what it needs, then or later.
$ . ./run.sh; rm -rf g; cp -a few g; n=0; for p in "$more" "$other" "$more; print 'a' x 9" "$few; print uc 'xyz'" "$other"; do n=$((n + 1)); perl -e "$p" > want$n; pugmark run -q --cache-dir "$PWD/g" -- perl -e "$p" | cmp - want$n & done; wait
+ for p in "$more" "$other"; do run "$p" > log; run "$p" > log; cmp log base; done
# So it is where addresses are others, and in traces, with or without code that only counts.
$ . ./run.sh; rm -rf g; cp -a few g; for i in 1 2 3 4; do pugmark run -q --aslr --cache-dir "$PWD/g" -- perl -e "$more" | cmp - native; done
+ trace() { pugmark run -q --exec --fix-random --no-vdso --no-follow "$@"; }; text() { awk '$2 !~ /^(time|sys|exec)/' $1; }; big="use strict; use warnings; use POSIX; use Socket; $few"; more="$big"'print lc("AbC"), ucfirst("xyz"), "\n"'; files() { ls t > l; grep -c more l; }
+ counts() { trace --count --csv - "$@" | grep '^count[.a-z]*,' | grep -v time; }
+ for p in "$big" "$more" "$more"; do counts --cache-dir "$PWD/t" -- perl -e "$p" > a; files; done; counts --no-cache -- perl -e "$more" | cmp - a; n=$(sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p' a); echo $((n > 2000000))
+ rm -r t; for p in "$big" "$more" "$more"; do trace --after $((n - 20000)) --for 15000 --sink dump:all --cache-dir "$PWD/t" -- perl -e "$p" > out 2>note; files; done; text all > b; trace --after $((n - 20000)) --for 15000 --sink dump:all --no-cache -- perl -e "$more" > out 2>note; text all | cmp - b; awk '/ insn / { n++ } END { print (n > 14000) }' all; rm all
> 0
> 1
> 1
> 1
> 0
> 1
> 1
> 1
# Pages of the shadow that were needed are there from the start.
$ py=/usr/bin/python3; [ -x $py ] || { echo 1; exit; }; export PYTHONHASHSEED=0 PUGMARK_STATS=1; few='import json; print(json.dumps([1, {"a": 3}]))'
+ late() { pugmark run --cache-dir "$PWD/p" -o /dev/null -- $py -S -c "$1" 2>&1 > out | sed -n 's/^requests signal: //p'; }; more="$few; print('aXb'.swapcase(), {1, 2} & {2}, 3.5.hex(), pow(3, 5, 7), 'x'.center(9), bytes(range(9)).hex(), '%5.2f' % 3.7, divmod(7, 3), 'abc'.encode('utf-16'), max({1: 2}.items()))"
+ late "$few" > log; first=$(late "$more"); ls p | grep -c more > log; second=$(late "$more"); echo $((second < first || $(cat log) == 0))
> 1
# ... and when a recording counts nothing: the run that waits for a page notes it.
$ py=/usr/bin/python3; [ -x $py ] || { echo 1; exit; }; export PYTHONHASHSEED=0 PUGMARK_STATS=1; for i in 1 2 3; do pugmark record -o r.pugrec --cache-dir "$PWD/q" -- $py -S -c 'import json; print(json.dumps([1, {"a": 3}]))' 2>&1 >out | sed -n 's/^requests signal: //p' >late; done; [ "$(cat late)" ] || echo 0 >late; echo $(($(cat late) < 50))
> 1
