# What cannot be recorded is said, the program goes on, and what is there replays.
$ pugmark record -o r.pugrec -- "$PROGRAMS/threads" 2>&1 | sed 's/process [0-9]*/process N/' | grep -c 'the recording ends here: process N starts a thread, and threads cannot be recorded yet'
> 1
$ pugmark replay -q --no-output r.pugrec
! pugmark: the recording ends here: the program starts a thread, and threads cannot be recorded yet
$ pugmark record -o r.pugrec -- sh -c 'exec echo hello' 2>&1 | sed 's/process [0-9]*/process N/'
> hello
> pugmark: process N executes another program: what that does is not in the recording
$ pugmark replay -q r.pugrec
! pugmark: the recording ends here: the program executes another program
$ pugmark record -o r.pugrec -- sh -c '(exit 3); echo $?' 2>&1 | sed 's/process [0-9]*/process N/' | sort -r
> pugmark: process N starts another one: only the first one is in the recording
> 3
$ pugmark replay -q r.pugrec
> 3
# Nothing is written where the program does not begin.
$ pugmark record -o none.pugrec -- ./not-there; ls
> r.pugrec
! pugmark: ./not-there: cannot execute: No such file or directory
$ pugmark record -- true
! pugmark: -o FILE is missing: where the recording goes (see `pugmark record --help`)
? 2
$ pugmark record -o /nowhere/r.pugrec -- true
! pugmark: /nowhere/r.pugrec: cannot create: No such file or directory
? 1
