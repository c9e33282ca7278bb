# needs: make c++
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer goes with programs that have it, too'; false; }
# The example of docs/library.md does what the page says.
$ awk '/^```c/ { on = 1; next } /^```/ { on = 0 } on' $TOP/docs/library.md >example.c; cp $TESTS/data/real.pug prog.pug; for cc in 'cc -std=c11' 'c++ -std=c++17 -x c++'; do $cc -Wall -Wextra -pedantic -Werror -I$TOP/include -o example example.c -x none -L$BUILD/lib -lpugmark -Wl,-rpath,$BUILD/lib && ./example >got; pugmark sim --cache l1d=32k,8way,64 --json - prog.pug >want; echo >>want; cmp got want; done
$ mv prog.pug gone; ./example
> cannot open: No such file or directory
? 1
# What it names is in the header, and what the header declares is in the map.
$ grep -o 'pm_[a-z_]*' $TOP/docs/library.md | LC_ALL=C sort -u | while read -r n; do grep -q "\b$n\b" $TOP/include/pugmark/*.h || echo $n; done
