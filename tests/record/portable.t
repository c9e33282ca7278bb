# A recording that keeps what the program consists of replays without it.
$ cp "$PROGRAMS/exits" e; pugmark record --portable -o r.pugrec -- ./e 7; echo $?; rm e
> about to end: 7
> atexit
> 7
$ pugmark replay -q r.pugrec
> about to end: 7
> atexit
? 7
$ pugmark replay --no-output --count r.pugrec 2>&1 | grep -c 'instructions  *[1-9]'
> 1
