# What cannot be written is an error, whatever the command: one line, and status 1.
$ cp "$PROGRAMS/bare" b; cp b c; cp b x; pugmark idt -e b; ./b.idt >/dev/null; pugmark idt -c -r c; ./c.idt >/dev/null
$ D=$TESTS/data; F=$D/formats
+ commands() { pugmark help | sed -n 's/^  \([a-z][a-z0-9-]*\) .*/\1/p'; }
+ says() {
+ "$@" >/dev/full 2>err; s=$?
+ [ $s = 1 ] && [ "$(grep -c . err)" = 1 ] && grep -q 'No space left on device' err || { echo "$*: $s"; cat err; }
+ }
+ for c in $(commands); do
+ says pugmark $c --help
+ case $c in
+ run) says pugmark run -q --no-cache --json - -- true; says pugmark run -q --no-cache --report - -- true; says pugmark run -q --no-cache --exec --dump -- true ;;
+ record) says pugmark record --no-cache -o /dev/full -- true ;;
+ replay) pugmark record --no-cache -o r.pugrec -- true; says pugmark replay -q --no-cache --json - r.pugrec; says pugmark replay -q --no-cache --exec --dump r.pugrec ;;
+ query) pugmark record -q --no-cache -o r.pugrec -- ./b >/dev/null; says pugmark query --no-cache r.pugrec "value rip at @0"; says pugmark query --no-cache --json r.pugrec "value rip at @0" ;;
+ gdb | instrument | idt | report | sql | machine | citcat | sweep) ;;	# what they write has tests of its own
+ idt2kt) says pugmark idt2kt -q -o - b ;;
+ vcount | vtrace | idtinfo) says pugmark $c -q b ;;
+ rtrace) says pugmark rtrace -q c ;;
+ sim) says pugmark sim --usual $D/real.pug; says pugmark sim --list; says pugmark sim --json - --cache '' $D/real.pug ;;
+ annotate) says pugmark annotate $D/real.pug ;;
+ convert) says pugmark convert -q -t din $D/real.pug - ;;
+ merge) says pugmark merge $F/merge.ref.txt $F/merge.kev - ;;
+ slice) says pugmark slice -q --count 5 -t din $D/real.pug - ;;
+ info | head | dump | verify) says pugmark $c $D/real.pug ;;
+ formats) says pugmark formats; says pugmark formats pug; says pugmark formats --json - ;;
+ penn | uops | isize | brdist | uop-mix | fusion) says pugmark $c $F/penn-sjeng-60.trace ;;
+ mix) says pugmark mix $D/real.pug ;;
+ completion) says pugmark completion bash ;;
+ schema) says pugmark schema info ;;
+ laplace) says pugmark laplace $F/merge.ref.txt $F/merge.kev ;;
+ sample) says pugmark sample -q --most 100% $D/real.pug; says pugmark sample -q --most 100% --json - $D/real.pug ;;
+ simpoint) pugmark simpoint cut -q --interval 20k -o points $D/real.pug >/dev/null; says pugmark simpoint cut -q --interval 20k -o again $D/real.pug; says pugmark simpoint sim -q -s bpred points; says pugmark simpoint sim -q -s bpred --json - points ;;
+ diff) says pugmark diff $D/real.pug $D/real.pug ;;
+ profile) pugmark run -q --no-cache --branch -o branch.pug -- true; says pugmark profile write --bolt - branch.pug ;;
+ version | help | doctor) says pugmark $c ;;
+ *) echo "$c: not tried here" ;;
+ esac
+ done
# A report that standard error does not take is missing: status 1. The files are there, for they are written first.
$ for e in /dev/full '&-'; do for o in '--json j' '--sim cache --json j' '--csv j --counts c' '--folded j --sim calls'; do rm -f j; eval "pugmark run $o -- true 2>$e"; echo "$? $(ls j)"; done; done | uniq -c | sed 's/^ *//'
> 8 1 j
# A file that cannot be written keeps no other one away.
$ for o in '--callgrind /dev/full' '--folded /dev/full' '--html /dev/full' '--json /dev/full'; do rm -f a b; pugmark sim -s cachegrind $o --csv a --parquet b "$TESTS/data/real.pug" >text; echo "$? $(ls a b | tr '\n' ' ') $(head -n 1 text)"; done
> 1 a b  cachegrind
> 1 a b  cachegrind
> 1 a b  cachegrind
> 1 a b  cachegrind
! pugmark: /dev/full: cannot write: No space left on device
! pugmark: /dev/full: cannot write: No space left on device
! pugmark: /dev/full: cannot write: No space left on device
! pugmark: /dev/full: cannot write: No space left on device
