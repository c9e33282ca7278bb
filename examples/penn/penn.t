# examples/penn/penn.t - the students' parsers agree with pugmark
$ cc -std=c99 -Wall -Wextra -pedantic -O1 -D_DEFAULT_SOURCE -o simulator $TOP/examples/penn/simulator.c
$ ./simulator $TESTS/data/formats/penn-sjeng-60.trace
> Processing trace...
> Processed 60 trace records.
> Micro-ops: 60
> Macro-ops: 57
$ pugmark convert -q -t penn $TESTS/data/formats/steps.drmemtrace s.trace; ./simulator <s.trace >c.out; pugmark penn s.trace | cmp - c.out && tail -1 c.out
> Macro-ops: 1200
$ head -c 200 s.trace | ./simulator
> Processing trace...
! Error parsing trace at line 4
? 1
$ if command -v java >/dev/null && java --version >/dev/null 2>&1 && command -v javac >/dev/null; then java $TOP/examples/penn/Simulator.java s.trace; else cat c.out; fi
> Processing trace...
> Processed 1594 trace records.
> Micro-ops: 1594
> Macro-ops: 1200
