# needs: make
# The build. What `make guests` unpacks below build/ may hold anything, directories named like dependency files too.
$ mkdir -p b/guest/linux/src-busybox/etc/init.d b/src/odd.d
+ make -C "$TOP" -n B="$PWD/b" all >out; echo $?; grep -c '[ /]src/base/number.c' out
> 0
> 1
# It says one short line for each file, V=1 the commands.
$ make -C "$TOP" --no-print-directory V= B="$PWD/b" "$PWD/b/src/base/number.o" 2>&1 | grep -v mips
> CC     src/base/number.c
$ rm b/src/base/number.o; make -C "$TOP" --no-print-directory V=1 B="$PWD/b" "$PWD/b/src/base/number.o" 2>&1 | grep -c -e '-Wall.*src/base/number.c$'
> 1
$ rm b/src/base/number.o; make -s -C "$TOP" B="$PWD/b" "$PWD/b/src/base/number.o" 2>&1
