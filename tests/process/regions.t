# tests/process/regions.t - every kind of point that a region begins or ends at, twice on one cache: the
# first run fills it, the other executes what it left. Each traces the same number of instructions.
# timeout: 300
$ count() { pugmark run -q --count --csv count "$@" -- "$PROGRAMS/regions" > out || echo "status $?"; printf 'between\ndone\n' | cmp - out
+ sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p' count; }
+ same() { count --no-cache "$@" > want; for i in 1 2; do count --cache-dir "$PWD/kept" "$@" > got; [ -s got ] && ! grep -q '[^0-9]' got || { echo "$@: run $i:"; cat got; }
+ cmp -s want got || { echo "$@: run $i differs:"; cat want got; }
+ done; }
+ at=0x$(nm "$PROGRAMS/regions" | sed -n 's/ T kernel$//p'); nm "$PROGRAMS/regions" | grep -q ' T main' && at=0x$(printf '%x' $((at + 0x555555554000)))
+ for kind in --exec --branch --cache; do
+ [ $kind = --exec ] && points="main setup kernel finish puts $at SIGUSR1 90000" || points="main kernel"
+ for point in $points; do
+ same $kind --start-at $point; same $kind --stop-at $point
+ done; same $kind --start-at kernel --stop-at finish; same $kind --start-at SIGUSR1 --stop-at kernel; rm -rf kept; done
$ same() { for i in 1 2 3; do pugmark run -q --exec --count --csv count --cache-dir "$PWD/kept" "$@" -- "$PROGRAMS/regions" > out || echo "status $?"
+ sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p' count; done | uniq | wc -l; }
+ same --start-at kernel --strict-flags; same --start-at kernel --no-follow; same --start-at kernel --after 100 --for 50 --every 100
+ same --start-at kernel --aslr | awk '{ print ($1 > 0) }'
> 1
> 1
> 1
> 1
# Names: as in the source with parameters or without them, as in the file, of an alias, patterns, copies of the compiler's.
# What begins later is less.
$ nm "$PROGRAMS/names" | grep -q ' _ZL6copied.*\.constprop\.0$' && echo a copy
+ from() { pugmark run -q --exec --count --csv n.csv --start-at "$1" -- "$PROGRAMS/names" && sed -n 's/^instructions,\([0-9]*\),.*/\1/p' n.csv; }
+ for n in main 'phys::Solver::solve(int)' 'phys::Solver::solve(long,char)' 'phys::Solver::operator()' 'phys::twice' copied last_one; do from "$n"; done > later; sort -rnu later | cmp - later && wc -l < later
+ for n in 'phys::Solver::solve' '_ZN4phys6Solver5solveEi' 'phys::*' 'phys::Solver::so?ve*'; do from "$n"; done | uniq | grep -cx "$(sed -n 2p later)"
+ for n in 'phys::twice<int>' 'int phys::twice<int>(int)' '*twice*'; do from "$n"; done | uniq | grep -cx "$(sed -n 5p later)"
+ from other_name | grep -cx "$(sed -n 7p later)"
> a copy
> 7
> 1
> 1
> 1
# A name that no file has, also none that a child executes: an error. So is a start that does not come.
$ for n in 'sovle' 'phys::Solver::solve(double)' nothing_like_it 0xdeadbeef SIGUSR1 99999999; do pugmark run -q --exec -o n.pug --start-at "$n" -- "$PROGRAMS/names" || echo $?; pugmark info n.pug | grep -x '  instructions  *0'; done | sort | uniq -c | sed 's/  *//g'
! pugmark: --start-at: no function 'sovle' in the symbol tables of the 3 files that ran; did you mean 'phys::Solver::solve'?
! pugmark: --start-at: no function 'phys::Solver::solve(double)' in the symbol tables of the 3 files that ran; did you mean 'phys::Solver::solve(int)' or 'phys::Solver::solve(long, char)'?
! pugmark: --start-at: no function 'nothing_like_it' in the symbol tables of the 3 files that ran
! pugmark: --start-at: '0xdeadbeef' was never reached, so nothing is traced
! pugmark: --start-at: 'SIGUSR1' was never reached, so nothing is traced
! pugmark: --start-at: '99999999' was never reached, so nothing is traced
> 6instructions0
> 61
$ pugmark run -q --exec --count --csv n.csv --start-at phys::twice -- sh -c '"$0"; exit 3' "$PROGRAMS/names"; echo $?; grep -c '^instructions,[1-9]' n.csv
> 3
> 1
$ r() { pugmark run --exec -o n.pug "$@" -- "$PROGRAMS/names" || echo $?; }; r --start-at idle; r --after 1000000000; r --stop-at lsat_one; r --stop-at idle; r -q --stop-at idle
> 1
> 1
> 1
! pugmark: --start-at: 'idle' was never reached, so nothing is traced
! pugmark: --after: the program ended before so many instructions, so nothing is traced
! pugmark: --stop-at: no function 'lsat_one' in the symbol tables of the 3 files that ran; did you mean 'last_one'?
! pugmark: note: --stop-at: 'idle' was never reached
# How many instructions there are in a trace, and how many the program executed, says the run itself.
$ for o in "--exec" "--branch" "--exec --start-at last_one" "--exec --for 1000"; do pugmark run -q $o -o n.pug --json n.json -- "$PROGRAMS/names"; pugmark info --json - n.pug | sed -n 's/^ *"instructions": \([0-9]*\).*/\1/p' | head -n 1 > n; sed -n 's/^  "instructions": \([0-9]*\).*/\1/p' n.json | cmp - n; sed -n 's/^  "executed_instructions": \([0-9]*\).*/\1/p' n.json; done | uniq | awk '{ print ($1 > 100000) }'
> 1
# What stops no later than it starts holds nothing.
$ for o in '--start-at 2000 --stop-at 1000' '--start-at main --stop-at main'; do pugmark run -q --exec -o none.pug $o -- "$PROGRAMS/exits" 3 >/dev/null; echo $?; done
> 1
> 1
! pugmark: --stop-at: '1000' comes no later than where tracing begins, so nothing is traced
! pugmark: --stop-at: 'main' comes no later than where tracing begins, so nothing is traced
