# A page from what an earlier command has kept: a trace, a stored profile, a result. A browser gets its name.
$ cp $TESTS/data/real.pug r.pug; pugmark report r.pug; grep -c '</html>' r.pug.html; pugmark report --no-open -o t.html r.pug; cmp t.html r.pug.html; grep -o '<h2[^>]*>[^<]*' t.html | sed 's/.*>//' | head -5
> r.pug.html
> 1
> t.html
> Overview
> Functions
> Objects
> Source and instructions
> What the events are
$ pugmark sim --sim cache --json s.json r.pug >/dev/null; pugmark report s.json -o s.html; grep -c 'l1d' s.html | awk '{ print ($1 > 0) }'; pugmark run -q --json p.json --callgrind p.cg --counts p -- true; for f in p.json p.cg p.[0-9]*; do pugmark report --no-open $f && grep -c '</html>' $f.html; done | sed 's/^p\.[0-9]*\./p.N./'; rm p.[0-9]*
> s.html
> 1
> p.json.html
> 1
> p.cg.html
> 1
> p.N.html
> 1
# $BROWSER is a command, with words; it fails: the name is printed; without one, too.
$ printf '#!/bin/sh\necho "shows: $*"\n' >'my browser'; chmod +x 'my browser'; BROWSER="'$PWD/my browser' --new" pugmark report s.json; BROWSER=false pugmark report s.json; BROWSER='./my\ browser' pugmark report --no-open s.json; env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY pugmark report s.json
> shows: --new s.json.html
> s.json.html
> s.json.html
> s.json.html
$ mkdir bin; printf '#!/bin/sh\necho "$*" >>seen\n' >bin/xdg-open; chmod +x bin/xdg-open; PATH=$PWD/bin:$PATH DISPLAY=:9 pugmark report s.json; cat seen
> s.json.html
# Into a pipe there is the page alone.
$ pugmark report -o - s.json | head -c 15; pugmark report -o - - <r.pug | tail -1
> <!DOCTYPE html></html>
# What is wrong with a file.
$ echo '{"a": 1' >cut.json; pugmark report cut.json; printf '{"a":\n\n [1, x]}' >bad.json; pugmark report bad.json; echo text >text; pugmark report text; pugmark report nosuch; pugmark report - <r.pug; echo $?; pugmark report; echo $?; pugmark report -o /nonexistent/x s.json; ls *.html
> 2
> 2
> p.cg.html
> p.json.html
> r.pug.html
> s.html
> s.json.html
> t.html
! pugmark: cut.json:2: expected ',' or '}'
! pugmark: bad.json:3: expected a value
! pugmark: text: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
! pugmark: nosuch: cannot open: No such file or directory
! pugmark: standard input has no name for the page; use -o FILE (see `pugmark report --help`)
! pugmark: missing FILE (see `pugmark report --help`)
! pugmark: /nonexistent/x: cannot create: No such file or directory
