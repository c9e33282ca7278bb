# tests/trace/valgrind.t - lackey's own output: recognised, read, and written back without its chatter
# needs: valgrind
$ valgrind --tool=lackey --trace-mem=yes --log-file=v.log true 2>/dev/null; grep -v -e '^==' -e '^--' -e '^$' v.log >v.want; pugmark convert v.log v.lackey && cmp v.lackey v.want
# exp-bbv's vectors, with their comments and its blanks
$ valgrind -q --tool=exp-bbv --bb-out-file=v.bb --pc-out-file=v.pc --interval-size=10000 true 2>/dev/null; pugmark info v.bb | sed -n '/^format/p'; grep -v '^#' v.bb >v.want; pugmark convert -q v.bb w.bb && grep -v '^#' w.bb | cmp - v.want
> format          simpoint
