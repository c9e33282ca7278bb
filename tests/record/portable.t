# A recording that keeps what the program consists of replays without it. What is not the system's is always kept.
$ cp "$PROGRAMS/exits" e; pugmark record -o r.pugrec -- ./e 3 | tail -n 1; echo changed > e; pugmark replay -q r.pugrec | tail -n 1
> atexit
> atexit
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
