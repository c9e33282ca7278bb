# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer wants what is limited here'; false; }
# Replays that cannot begin leave nothing of their trace.
$ pugmark record -q -o r.pugrec -- sh -c : && ulimit -v 500000; pugmark convert -q -j 2 r.pugrec none.pug 2>&1 | cut -c 1-40; pugmark replay -q -j 2 --exec -o none.pug r.pugrec 2>&1 | cut -c 1-40; ls none.pug* 2>/dev/null
> pugmark: r.pugrec: tracing needs 17408 G
> pugmark: r.pugrec: tracing needs 17408 G
? 2
