# Mispredictions of each kind of branch beside ChampSim's own, of its default configuration (bimodal, basic_btb) in the tree that
# CHAMPSIM names. It stops when it has read its trace, with instructions on their way: 512 plain ones stand behind.
# if: [ -x "${CHAMPSIM:-}/bin/champsim" ] || { echo 'CHAMPSIM does not name a tree of ChampSim in which bin/champsim is built'; exit 1; }
# needs: c++
$ pugmark convert -q $TESTS/data/real.pug real.champsim && head -c 32768 /dev/zero >>real.champsim && "$CHAMPSIM/bin/champsim" --hide-heartbeat --json theirs real.champsim >out && tr ',{}' '\n' <theirs | sed -n 's/.*"BRANCH_\([A-Z_]*\)": *\([0-9]*\).*/\1 \2/p' | grep -v ' 0$' | tr A-Z a-z | sort -u >want; pugmark sim -q -f champsim --champsim-module $CHAMPSIM/branch/bimodal/bimodal.cc --champsim-module $CHAMPSIM/btb/basic_btb/basic_btb.cc --bpred 'bimodal.cc=basic_btb.cc' --csv csv real.champsim >/dev/null; sed -n 's/.*by_type\.\([a-z_]*\)\.mispredictions,\([0-9]*\),.*/\1 \2/p' csv | grep -v ' 0$' | sort >got; cmp got want && wc -l <got | awk '{ print ($1 > 3) }'
> 1
