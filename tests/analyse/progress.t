# needs: script
# timeout: 60
# On a terminal what takes longer says how far it is; elsewhere it is silent.
$ pugmark convert -q -t din "$TESTS/data/real.pug" t.din; (head -n 9000 t.din; sleep 1.2; tail -n +9001 t.din) | pugmark sim -f din -s cache - 2>err >/dev/null; wc -c <err
> 0
$ cat >show.sh <<'X'
+ (until grep -q 'M events' seen; do head -n 9000 t.din; sleep 0.2; done) | pugmark sim -f din -s cache - >/dev/null
+ X
+ TERM=xterm script -qec "sh show.sh" /dev/null >seen; tr '\r' '\n' <seen | grep -oE 'M events, [0-9.]+ M/s' | sed 's/[0-9.]* M.s/N M\/s/' | sort -u
> M events, N M/s
# Every command that reads a trace; the line is taken back before anything else is said.
$ cat >feed.sh <<'X'
+ (head -n 9000 t.din; sleep 1.1; head -n 9000 t.din; head -n 9000 t.din; sleep 0.6; head -n 99000 t.din) | "$@" >/dev/null
+ X
+ for c in 'sim -f din -s cache -' 'convert -f din -t xdin - x' 'slice -f din -t xdin - x' 'verify -f din -' 'info -f din -' 'dump -f din -' 'mix -f din -' 'report --no-open -o x.html -f din -' 'convert -q -f din -t xdin - x'; do TERM=xterm script -qec "sh feed.sh pugmark $c" /dev/null | tr '\r' '\n' >seen; echo "$c: $(grep -cE 'M events, [0-9.]+ M/s' seen | sed 's/[1-9][0-9]*/shown/') $(tail -c 4 seen | tr '\033' E | grep -c 'E.K$')"; done
> sim -f din -s cache -: shown 1
> convert -f din -t xdin - x: shown 1
> slice -f din -t xdin - x: shown 1
> verify -f din -: shown 1
> info -f din -: shown 1
> dump -f din -: shown 1
> mix -f din -: shown 1
> report --no-open -o x.html -f din -: shown 1
> convert -q -f din -t xdin - x: 0 0
$ TERM=dumb script -qec 'sh feed.sh pugmark verify -f din -' /dev/null | grep -c 'M events'
> 0
? 1
# Of a file also how long it will take still; 80 columns are enough. (The program is stopped for longer than a second.)
$ for i in 1 2 3 4 5 6 7 8 9 10; do cat t.din t.din t.din t.din t.din; done >large.din; printf '%s\n' 'pugmark sim -s cache -s reuse large.din >/dev/null & sleep 0.2; kill -STOP $!; sleep 1.2; kill -CONT $!; wait' >stop.sh; TERM=xterm script -qec 'bash stop.sh' /dev/null | tr '\r' '\n' >seen; grep -oE '[0-9.]+ %, .* to go' seen | head -1 | sed 's/[0-9][0-9]*/N/g; s/N min //'; awk 'length > 79' seen
> N %, N s to go
