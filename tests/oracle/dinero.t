# With nofetch and drain caches count what Dinero IV counts, at every level. The numbers in
# dinero.txt are Dinero IV's.
$ "$TESTS/oracle/dinero" "$TESTS/data/real.pug" "$TESTS/data/dinero.txt"
> 16 configurations: the same
# In one command they are a family.
$ sed -n 's/.* = /--cache\n/p' "$TESTS/data/dinero.txt" | xargs -d '\n' pugmark sim -q --json together trace.xdin >/dev/null 2>&1; sed -n 's/.* = //p' "$TESTS/data/dinero.txt" | while read -r c; do pugmark sim -q --json one --cache "$c" trace.xdin >/dev/null 2>&1; sed '1,2d; $d; s/,$//' one; done >alone.txt; sed '1,2d; $d; s/,$//; s/^  "cache-[0-9]*": {/  "cache": {/' together | cmp - alone.txt
