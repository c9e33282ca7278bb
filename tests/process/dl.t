# dlopen and dlclose: other code at the same address.
$ "$TESTS/process/both" dl
> equal: status 0, 1 lines
