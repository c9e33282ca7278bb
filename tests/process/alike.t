# Code at addresses that are alike in their low 32 bits, by which indirect transfers look translations up: never the other's.
$ "$TESTS/process/both" alike
+ for how in --aslr "--exec -t pug" "--exec -t pug --aslr" "--exec -t pug --after 10k --for 10k --every 20k"; do "$TESTS/process/both" -o "$how" alike; done
> equal: status 0, 4 lines
> equal: status 0, 4 lines
> equal: status 0, 4 lines
> equal: status 0, 4 lines
> equal: status 0, 4 lines
# A region that is only reserved takes nothing from the code that it is like: nobody has to ask each time.
$ PUGMARK_STATS=1 pugmark run -q -- "$PROGRAMS/alike" r 2>&1 | awk '/^requests signal/ { print $3 < 50 ? "few" : "many" }'
> few
