# tests/trace/verify.t - the samples of all formats are possible traces
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do pugmark verify -f $fmt $D/$f >v 2>&1 || { echo "$f"; cat v; }; done
