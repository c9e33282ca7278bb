# Threads: what they print depends on who executed when, and is the same in ten replays of one recording, with traces and
# without. Registers are compared at every switch.
# timeout: 300
$ for how in races spins robust ring; do "$TESTS/record/ten" "$PROGRAMS/schedules" $how; done
> status 0, 1 lines 10 times
> status 0, 1 lines 10 times
> status 0, 6 lines 10 times
> status 0, 1 lines 10 times
# Signals to the process and to threads; threads that make processes, and execute another program.
$ for how in signals forks executes; do "$TESTS/record/ten" "$PROGRAMS/schedules" $how; done
> status 0, 1 lines 10 times
> status 0, 1 lines 10 times
> status 0, 1 lines 10 times
# Threads that end: main() returns while others go on, or leaves them; one is killed.
$ for how in returns leaves killed; do "$TESTS/record/ten" "$PROGRAMS/schedules" $how; done
> status 0, 1 lines 10 times
> status 3, 1 lines 10 times
> status 137, 1 lines 10 times
$ "$TESTS/record/ten" "$PROGRAMS/threads"
> status 0, 6 lines 10 times
$ "$TESTS/record/ten" "$PROGRAMS/threads-static"
> status 0, 6 lines 10 times
# A race: the counter loses what it loses. Replays count as many instructions, whatever they make of the program.
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/schedules" races > out; for k in '' --strict-flags '--lcov l' '--exec --discard'; do timeout 100 pugmark replay --no-output --count $k r.pugrec 2>&1 | grep -m1 -o '[0-9,]* instructions'; done | uniq | wc -l
> 1
# In an unusual order: what mostly goes well goes wrong, and then in each replay.
$ for seed in 1 2 3 4 5 6 7 8; do pugmark record -q --chaos $seed -o $seed.pugrec -- "$PROGRAMS/schedules" rarely; done > out; grep -qv ' 3000 times' out && echo found
> found
$ for seed in 1 2 3 4 5 6 7 8; do for n in 1 2 3; do pugmark replay -q $seed.pugrec; done | uniq | wc -l; done | uniq
> 1
$ for how in races spins ring forks signals leaves executes; do "$TESTS/record/ten" -n 3 -r --chaos=7 "$PROGRAMS/schedules" $how; done | uniq
> status 0, 1 lines 3 times
> status 3, 1 lines 3 times
> status 0, 1 lines 3 times
# Each thread has a stream, by the number that it had; two replays are the same.
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/schedules" robust | wc -l
> 6
$ for n in 1 2; do pugmark replay -q --no-output -o $n.pug r.pugrec; pugmark dump $n.pug | grep -v ' time ' | sort -s -n -k 1,1 > $n.text; done; cmp 1.text 2.text && cut -d' ' -f1 1.text | uniq | wc -l; grep -c ' thread ' 1.text
> 5
> 4
