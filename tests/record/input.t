# A recording in place of a trace.
$ pugmark record -o r.pugrec -- "$PROGRAMS/exits" 7; echo $?
> about to end: 7
> atexit
> 7
$ pugmark replay -q --no-output -o r.pug r.pugrec; pugmark dump r.pugrec | grep -v ' time ' > a; pugmark dump r.pug | grep -v ' time ' > b; cmp a b && echo same
> same
$ pugmark convert -q r.pugrec r.champsim; pugmark convert -q r.pug s.champsim; cmp r.champsim s.champsim && echo same
> same
$ pugmark sim --sim cache r.pugrec > a; pugmark sim --sim cache r.pug > b; cmp a b && echo same
> same
$ pugmark verify r.pugrec | grep -c good; pugmark annotate r.pugrec | grep -c total; pugmark info r.pugrec | sed -n 2p
> 11
> 1
> format          pug
