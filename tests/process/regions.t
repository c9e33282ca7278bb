# tests/process/regions.t - every kind of point that a region begins or ends at, three times on one cache:
# the first run fills it, the others execute what it left. Each traces the same number of instructions.
# timeout: 300
$ count() { pugmark run -q --count --csv count "$@" -- "$PROGRAMS/regions" > out || echo "status $?"; printf 'between\ndone\n' | cmp - out
+ sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p' count; }
+ same() { n=0; for i in 1 2 3; do count --cache-dir "$PWD/kept" "$@" > got; [ -s got ] && ! grep -q '[^0-9]' got || { echo "$@: run $i:"; cat got; }
+ sort -u got - << EOT > all; n=$(wc -l < all); [ "$n" = 1 ] || { echo "$@: run $i differs:"; cat all; }
+ $(count --no-cache "$@")
+ EOT
+ done; }
+ at=0x$(nm "$PROGRAMS/regions" | sed -n 's/ T kernel$//p'); nm "$PROGRAMS/regions" | grep -q ' T main' && at=0x$(printf '%x' $((at + 0x555555554000)))
+ for kind in --exec --branch --cache; do
+ [ $kind = --exec ] && points="main setup kernel finish puts $at SIGUSR1 90000" || points="main kernel"
+ for point in $points; do
+ same $kind --start-at $point; same $kind --stop-at $point
+ done; same $kind --start-at kernel --stop-at finish; same $kind --start-at SIGUSR1 --stop-at kernel; rm -rf kept; done
$ same() { for i in 1 2 3; do pugmark run -q --exec --count --csv count --cache-dir "$PWD/kept" "$@" -- "$PROGRAMS/regions" > out || echo "status $?"
+ sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p' count; done | uniq | wc -l; }
+ same --start-at kernel --strict-flags; same --start-at kernel --no-follow; same --start-at kernel --after 100 --for 50 --every 100
+ same --start-at kernel --aslr | awk '{ print ($1 > 0) }'
> 1
> 1
> 1
> 1
