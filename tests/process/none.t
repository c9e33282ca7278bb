# No instructions cannot be traced: that is no way to say all of them.
$ pugmark run -q --for 0 --exec -o t.pug true; ls t.pug 2>&1 | wc -l
! pugmark: --for expects a number, at least 1, not '0' (see `pugmark run --help`)
> 1
$ pugmark run -q --every 0 --for 1 --exec -o t.pug true
! pugmark: --every expects a number, at least 1, not '0' (see `pugmark run --help`)
? 2
$ pugmark run -q --after 0 --for 1 --exec -o t.pug true; pugmark info t.pug | awk '$1 == "instructions" && $2 { print "some"; exit }'
> some
