# Processes of 32 bits that have all of their parent's memory: the programs of two tests for 64-bit ones.
# needs: $PROGRAMS/i386/args
# if: "$TESTS/can-32-bit"
# timeout: 300
$ "$TESTS/record/narrow" vm-process v; "$TESTS/record/narrow" vm-process-ends w
$ cat > again <<'end'
+ pugmark record -q $chaos -o r.pugrec -- "$@" > a 2> e < /dev/null
+ sa=$?
+ pugmark replay -q r.pugrec > b 2>> e < /dev/null
+ sb=$?
+ [ $sa = $sb ] && cmp a b && ! grep pugmark: e && grep -v '^[0-9]*$' a | tr '\n' ' ' && echo "$2 $sa"
+ end
$ for how in returns tid outlives handlers threads forks; do sh again ./v $how; done; for how in executes execthreads waits spins raises aborts faults divides threads robust parent; do sh again ./w $how 2>/dev/null; done
> 100 0 returns 4
> 100 0 tid 4
> parent ends child ends outlives 3
> child's handler parent's handler 100 0 handlers 4
> 500 0 threads 4
> child's child 900 100 0 forks 4
> 300 executed executes 4
> 0  execthreads 4
> 9  waits 4
> 9  spins 4
> f  raises 4
> 6  aborts 4
> b  faults 4
> 0  divides 4
> 9  threads 4
> 9  robust 4
> child goes on parent 137
$ for seed in 1 2 3; do for how in returns tid outlives threads; do chaos="--chaos $seed" sh again ./v $how 2; done; for how in executes waits spins threads robust; do chaos="--chaos $seed" sh again ./w $how 3 2>/dev/null; done; done | sort | uniq -c | sed 's/^ *//'
> 3 100 0 200 0 returns 4
> 3 100 0 200 0 tid 4
> 3 300 executed 300 executed 300 executed executes 4
> 3 500 0 500 0 threads 4
> 3 9  9  9  robust 4
> 3 9  9  9  spins 4
> 3 9  9  9  threads 4
> 3 9  9  9  waits 4
> 3 parent ends child ends child ends outlives 3
$ sh again ./v returns; pugmark convert r.pugrec 1.pug; PUGMARK_PART=1000 pugmark convert -j 2 r.pugrec 2.pug; for i in 1 2; do pugmark verify $i.pug > /dev/null; echo $?; pugmark dump $i.pug | grep -c ' insn '; done | sort -u | wc -l; pugmark query r.pugrec 'calls count' | cut -d@ -f1 | sort -u | wc -l
> 100 0 returns 4
> 2
> 2
