# tests/trace/verify.t - the samples of all formats are possible traces
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do pugmark verify -f $fmt $D/$f >v 2>&1 || { echo "$f"; cat v; }; done
# what programs really do is possible, too: every address is mapped, every call returns
$ for p in signals faults; do pugmark run -q -o x.pug -t pug -- "$PROGRAMS/$p" >out || echo "$p failed"; pugmark verify x.pug >v || cat v; grep -c -e '  map  .*good' -e '  calls .*good' v; done
> 2
> 2
$ pugmark run -q -o x.pug -t pug -- sh -c 'ls / | sort >out; (exit 3); echo $?' && pugmark verify x.pug | grep -vE ': [0-9]+ looked at|not applicable|instructions'
> 3
> x.pug: good
