# A program that asks the controller for anything, for all of its threads and processes, harms itself. The controller
# neither dies of it nor hangs: TERM ends it, if the program has not ended before. (Who fills the room for translations with
# code is killed, and says so.)
$ for seed in 1 2 3 4 5 6; do timeout -s TERM -k 30 2 pugmark run -q --no-cache -- "$PROGRAMS/hostile" $seed > out 2> log; s=$?
+   { [ $s != 137 ] || grep -q ' and is killed: ' log; } && ! grep -E 'died of|ssertion|runtime error|Sanitizer' log || { echo "$seed: $s"; cat log; }; done
# A trace of it ends with an error, or is one.
$ for seed in 7 8 9; do timeout -s TERM -k 30 2 pugmark run -q --no-cache --exec --discard -- "$PROGRAMS/hostile" $seed > out 2> log; s=$?
+   { [ $s != 137 ] || grep -q ' and is killed: ' log; } && ! grep -E 'died of|ssertion|runtime error|Sanitizer' log || { echo "$seed: $s"; cat log; }; done
# What it says of its processes is not believed: nobody is read, stopped or killed who does not belong to it.
$ sleep 60 & victim=$!; timeout -s KILL 60 pugmark run -q --no-cache -- "$PROGRAMS/hostile" $victim claim; kill $victim && echo alive
> State:	S (sleeping)
> TracerPid:	0
> alive
