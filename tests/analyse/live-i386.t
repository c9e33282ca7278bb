# Simulators while a 32-bit program runs.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
$ for p in refs many signals; do pugmark run -q --no-follow --csv live -o x.pug -s 'cachegrind:ll=64k,4way,64' -- "$PROGRAMS/i386/$p" >/dev/null; pugmark sim --csv stored -s cachegrind:ll=64k,4way,64 x.pug >/dev/null; for f in live stored; do grep -E '^cachegrind\.[A-Z]' $f >$f.cg; done; diff live.cg stored.cg && wc -l <live.cg; done
> 13
> 13
> 13
# Alone, without those that hit the newest line: two runs of a program that knows no addresses but its own.
$ for s in '-s cachegrind' '-s cachegrind -s count' '-s cachegrind:d1=2k,2way,32;ll=64k,4way,64' '-s cachegrind:d1=2k,2way,32;ll=64k,4way,64 -s count'; do setarch -R pugmark run -q --csv csv $s -- "$PROGRAMS/i386/refs" >/dev/null; grep -E '^cachegrind\.[A-Z]' csv | cksum; done | uniq -c | awk '{ print $1 }'
> 2
> 2
