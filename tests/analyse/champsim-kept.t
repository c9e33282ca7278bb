# Compiled modules of ChampSim are kept, and used as long as all that they were made of is as it was.
# needs: c++
# What r prints: mispredictions, and how many times the compiler has been called since the last time. Files that have changed in
# the tick of the clock in which it begins are not relied upon.
$ cat >cxx <<'E'
+ #!/bin/sh
+ # What the compiler has made of the same text before, or said of it, is given again: it takes two seconds, and its preprocessor 0.2.
+ echo >>"$CALLS"
+ [ -f linked ] && set -- "$@" -L. -Wl,--no-as-needed -lgone -Wl,-rpath,"$PWD"
+ set -- "$@" -O0
+ for a; do case $a in -o*) to=${a#-o};; *.o) exec c++ "$@";; esac; done
+ c++ "$@" -E -P || exit
+ made=$CALLS-$({ echo "$*"; tr -s '\n' <"$to"; } | sed "s,${to%/*},,g" | cksum | tr ' ' -)
+ [ -f "$made" ] && exec cp "$made" "$to"
+ [ -f "$made-no" ] && { cat "$made-no" >&2; exit 1; }
+ c++ "$@" 2>"$made.$$" || { cat "$made.$$" >&2; mv "$made.$$" "$made-no"; exit 1; }
+ cp "$to" "$made.$$" && mv "$made.$$" "$made"
+ E
+ cat >r <<'E'
+ sleep .02; export XDG_CACHE_HOME="${C-$PWD/cache}"
+ : >calls
+ m=${1:-m/m.cc}
+ CALLS=$PWD/calls CXX="${CXX-$PWD/cxx}" pugmark sim -q --champsim-module $m --bpred ${m##*/} --csv $$.csv $TESTS/data/real.pug >/dev/null || exit
+ echo $(awk -F, '/[a-z].cc.mispredictions,/ { print $2 }' $$.csv) $(wc -l <calls)
+ rm $$.csv
+ E
+ chmod +x cxx; mkdir m near late
+ cat >m/m.cc <<'E'
+ #include <modules.h>
+ #include <where.h>
+ #include "../near/near.h"
+ struct m : champsim::modules::branch_predictor {
+ 	using branch_predictor::branch_predictor;
+ 	bool predict_branch(champsim::address) { return WHERE ^ NEAR; }
+ 	void last_branch_result(champsim::address, champsim::address, bool, uint8_t) {}
+ };
+ E
+ echo '#define WHERE 1' >late/where.h; echo '#define NEAR 0' >near/near.h
# From the second time on no compiler is called.
$ export CPATH=$PWD/late; sh r; sh r; sh r; ls cache/pugmark | sed 's/-[0-9a-f]*$/-HASH/'
> 24643 1
> 24643 0
> 24643 0
> pugmark-ledger
> pugmark-module-HASH
# Each of these is compiled anew, once: the source, a header, one that is elsewhere, one that comes to be found first. What is
# only written again is as it was.
$ export CPATH=$PWD/late; echo '// other' >>m/m.cc; sh r; echo '#define NEAR 1' >near/near.h; sh r; sh r; echo '#define WHERE 0' >late/where.h; sh r; sh r; echo '#define WHERE 1' >m/where.h; sh r; sh r; touch m/* near/*; sh r; rm m/where.h; sh r
> 24643 1
> 10424 1
> 10424 0
> 24643 1
> 24643 0
> 10424 1
> 10424 0
> 10424 0
> 24643 1
# Another compiler, other words, another environment; what is kept for the first is still there.
$ export CPATH=$PWD/late; sh r; cp cxx other; CXX=$PWD/other sh r; CXX="$PWD/cxx -DX" sh r; CPATH=$PWD/late:/none sh r; sh r; echo '# changed' >>cxx; sh r
> 24643 0
> 24643 1
> 24643 1
> 24643 1
> 24643 0
> 24643 1
# Another folder with the same contents.
$ export CPATH=$PWD/late; cp -r m m2; sh r m2/m.cc; sh r m2/m.cc
> 24643 1
> 24643 0
# Sources that do not go together are compiled one by one, and linked: all of them are looked at.
$ export CPATH=$PWD/late; mkdir two; sed "s/struct m /struct two /" m/m.cc >two/two.cc; echo "struct two { int x; };" >two/other.cc; sh r two/two.cc; sh r two/two.cc; echo '#pragma once' >two/more.h; sed -i '1i #include "more.h"' two/other.cc; sh r two/two.cc; sh r two/two.cc; echo '// other' >>two/more.h; sh r two/two.cc; sh r two/two.cc
> 24643 4
> 24643 0
> 24643 4
> 24643 0
> 24643 4
> 24643 0
# What does not compile is not kept.
$ mkdir x; echo 'int x = y;' >x/x.cc; rm -r cache/pugmark; for i in 1 2; do sh r x/x.cc 2>&1 | sed 's/compile: .*error: .*/compile: .../'; wc -l <calls; done; ls cache/pugmark
> pugmark: the ChampSim module 'x.cc' does not compile: ...
> 1
> pugmark: the ChampSim module 'x.cc' does not compile: ...
> 1
> pugmark-ledger
# A file that is damaged, anywhere, or cut, is not used; nor what others can write to, or what is none.
$ export CPATH=$PWD/late; c=cache/pugmark; rm -r $c; sh r; k=$(echo $c/pugmark-module-*); n=$(wc -c <$k); for at in $((n - 3000)); do chmod u+w $k; printf '\245' | dd of=$k bs=1 seek=$at conv=notrunc status=none; sh r; done 2>&1 | sed 's/-module-.*: /-HASH: /; s,.*/pugmark/,,' | sort | uniq -c | sed 's/^ *//'; sh r
> 24643 1
> 1 24643 1
> 1 pugmark-HASH: it is damaged
> 24643 0
$ export CPATH=$PWD/late; c=cache/pugmark; k=$(echo $c/pugmark-module-*); for n in 3000; do cp $k old; rm $k; head -c $n old >$k; sh r 2>/dev/null; done; chmod o+w $k; sh r 2>/dev/null; rm $k; mkfifo $k; sh r 2>/dev/null; rm $k; mkdir $k; sh r; sh r; rmdir $k; sh r; sh r
> 24643 1
> 24643 1
> 24643 1
> 24643 1
> 24643 1
> 24643 1
> 24643 0
# What cannot be loaded any more, here because a library is gone, is compiled.
$ export CPATH=$PWD/late; rm -r cache; echo 'int gone;' | c++ -xc++ -shared -fPIC -o libgone.so -; : >linked; sh r; sh r; rm linked libgone.so; sh r; sh r
> 24643 1
> 24643 0
> 24643 1
> 24643 0
# Nowhere to keep it, or a directory that others can write to: compiled each time, in silence.
$ export CPATH=$PWD/late; mkdir -p open/pugmark; chmod 777 open/pugmark; for d in /dev/null/x "$PWD/open"; do C=$d sh r; done; C=$d sh r; ls open/pugmark; unset HOME; C= sh r
> 24643 1
> 24643 1
> 24643 1
> 24643 1
# Many at once, beginning with none.
$ export CPATH=$PWD/late TMPDIR=$PWD/tmp; mkdir tmp; rm -r cache/pugmark; for i in 1 2 3 4; do sh r | sed 's/ .*//' & done; wait; sh r; ls cache/pugmark | sed 's/-[0-9a-f]*$/-HASH/'; ls -A "$TMPDIR" | grep -c module; true
> 24643
> 24643
> 24643
> 24643
> 24643 0
> pugmark-ledger
> pugmark-module-HASH
> 0
