# fork, vfork, posix_spawn, clone, exec chains, orphans.
$ "$TESTS/process/both" forks
> equal: status 0, 10 lines
$ "$TESTS/process/both" forks-nopie
> equal: status 0, 10 lines
