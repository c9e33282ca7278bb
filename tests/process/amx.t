# Tiles (AMX): loads and stores, stopped by faults, in threads with signals; how large signal stacks have to be then.
# if: grep -q amx_tile /proc/cpuinfo || { echo 'no AMX'; false; }
$ "$TESTS/process/both" amx; "$TESTS/process/both" -o '-t pug --exec' amx; "$TESTS/process/both" -o '-t pug --branch' amx
> equal: status 0, 6 lines
> equal: status 0, 6 lines
> equal: status 0, 6 lines
$ env -i PATH="$PATH" XDG_CACHE_HOME="$XDG_CACHE_HOME" pugmark run -q -- "$PROGRAMS/amx" first
> permission with a small stack: 28, without one: 0
> signal stacks: good
> first: good
# A reference for each row, as many bytes as the configuration says, none twice.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/amx" fast | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
$ mkdir -p own && gcc -O1 -static -o own/amx "$TESTS/programs/amx.c" -lpthread && PATH=$PWD/own:$PATH "$TESTS/process/same" amx fast | sed 's/^[1-9][0-9]*$/some/'
> same output
> amx: same events
> some
> 0
