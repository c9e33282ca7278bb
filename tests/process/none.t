# No instructions cannot be traced: that is no way to say all of them.
$ pugmark run -q --for 0 --exec -o t.pug true; ls t.pug 2>&1 | wc -l
> 1
! pugmark: --for expects a number, at least 1, not '0' (see `pugmark run --help`)
$ pugmark run -q --every 0 --for 1 --exec -o t.pug true
! pugmark: --every expects a number, at least 1, not '0' (see `pugmark run --help`)
? 2
$ pugmark run -q --after 0 --for 1 --exec -o t.pug true; pugmark info t.pug | awk '$1 == "instructions" && $2 { print "some"; exit }'
> some
# The report in -o FILE is text: a name that promises another form is refused, before the program runs.
$ for n in json csv html; do pugmark run -q -o r.$n -- echo ran; done; pugmark run -q -t chrome -o r.json -- true; pugmark run -q -o r.text -- true; ls r.*
> r.json
> r.text
! pugmark: -o FILE would be the report as text: --json 'r.json' writes JSON (see `pugmark run --help`)
! pugmark: -o FILE would be the report as text: --csv 'r.csv' writes CSV (see `pugmark run --help`)
! pugmark: -o FILE would be the report as text: --html 'r.html' writes a page (see `pugmark run --help`)
