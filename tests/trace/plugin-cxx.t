# tests/trace/plugin-cxx.t - a sink in C++17
# needs: c++
$ c++ -std=c++17 -Wall -Wextra -pedantic -Werror -shared -fPIC -I$TOP/include -o flow.so $TESTS/trace/plugins/flow.cc && pugmark sim --sim flow.so:by-class --json - $TESTS/data/blocks.pug && pugmark sim --sim flow.so:none $TESTS/data/blocks.pug
> {
>   "schema": {"name": "pugmark.sim", "version": 1},
>   "by-class": {
>     "blocks": 6,
>     "class0": 353,
>     "class2": 47
>   }
> }
! pugmark: no such name: 'none'
? 1
