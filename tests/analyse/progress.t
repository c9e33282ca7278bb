# needs: script
# On a terminal a simulation that takes longer says how far it is; elsewhere it is silent.
$ pugmark convert -q -t din "$TESTS/data/real.pug" t.din; (head -n 9000 t.din; sleep 1.2; tail -n +9001 t.din) | pugmark sim -f din -s cache - 2>err >/dev/null; wc -c <err
> 0
$ cat >show.sh <<'X'
+ (until grep -q 'M events' seen; do head -n 9000 t.din; sleep 0.2; done) | pugmark sim -f din -s cache - >/dev/null
+ X
+ script -qec "sh show.sh" /dev/null >seen; tr '\r' '\n' <seen | grep -oE 'M events, [0-9.]+ M/s' | sed 's/[0-9.]* M.s/N M\/s/' | sort -u
> M events, N M/s
