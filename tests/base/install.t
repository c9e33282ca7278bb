# needs: make c++ pkg-config
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer goes with programs that have it, too'; false; }
# What `make install` puts where. Nothing goes outside of DESTDIR.
$ make -s -C "$TOP" B="${BUILD#$TOP/}" SETUP=no DESTDIR="$PWD/d" PREFIX=/opt/p install >out 2>&1 || cat out; mkdir -p d/opt/p/share/doc/pugmark; echo mine >d/opt/p/share/doc/pugmark/mine; find d/opt/p/lib d/opt/p/include ! -type d | LC_ALL=C sort; ls d d/opt/p; readlink d/opt/p/lib/libpugmark.so d/opt/p/lib/libpugmark.so.1
> d/opt/p/include/pugmark/err.h
> d/opt/p/include/pugmark/library.h
> d/opt/p/include/pugmark/pugmark.h
> d/opt/p/lib/libpugmark.a
> d/opt/p/lib/libpugmark.so
> d/opt/p/lib/libpugmark.so.1
> d/opt/p/lib/libpugmark.so.1.0.0
> d/opt/p/lib/pkgconfig/pugmark.pc
> d/opt/p/lib/python3/dist-packages/pugmark/__init__.py
> d/opt/p/lib/python3/dist-packages/pugmark/_about.py
> d/opt/p/lib/python3/dist-packages/pugmark/_arrow.py
> d/opt/p/lib/python3/dist-packages/pugmark/_batch.py
> d/opt/p/lib/python3/dist-packages/pugmark/_command.py
> d/opt/p/lib/python3/dist-packages/pugmark/_library.py
> d/opt/p/lib/python3/dist-packages/pugmark/_names.py
> d/opt/p/lib/python3/dist-packages/pugmark/_results.py
> d/opt/p/lib/python3/dist-packages/pugmark/_simulate.py
> d/opt/p/lib/python3/dist-packages/pugmark/_trace.py
> d/opt/p/lib/python3/dist-packages/pugmark/_writer.py
> d/opt/p/lib/python3/dist-packages/pugmark/py.typed
> d:
> opt
>
> d/opt/p:
> bin
> include
> lib
> share
> libpugmark.so.1
> libpugmark.so.1.0.0
$ ls d/opt/p/share/doc/pugmark/examples/library d/opt/p/share/man/man3; for f in idt vtrace; do readlink d/opt/p/bin/$f; done; cd d/opt/p/share && ls bash-completion/completions zsh/site-functions fish/vendor_completions.d; readlink bash-completion/completions/idt; bash -n bash-completion/completions/pugmark
> d/opt/p/share/doc/pugmark/examples/library:
> filter.c
> simulate.c
> sizes.c
>
> d/opt/p/share/man/man3:
> libpugmark.3
> pugmark
> pugmark
> bash-completion/completions:
> idt
> idt2kt
> idtinfo
> pugmark
> rtrace
> vcount
> vtrace
>
> fish/vendor_completions.d:
> pugmark.fish
>
> zsh/site-functions:
> _pugmark
> pugmark
$ printf 'export PKG_CONFIG_PATH="%s" PKG_CONFIG_SYSROOT_DIR="%s"\n' "$PWD/d/opt/p/lib/pkgconfig" "$PWD/d" >env; . ./env; pkg-config --modversion pugmark; pkg-config --cflags --libs pugmark | sed "s,$PWD,,g; s/ *$//"
> 0.1.0
> -I/d/opt/p/include -L/d/opt/p/lib -lpugmark
# The examples, as C11 and as C++17, with the shared library and with the archive.
$ . ./env; for e in sizes simulate filter; do src=d/opt/p/share/doc/pugmark/examples/library/$e.c; for how in '-std=c11' '-std=c++17 -x c++'; do cc=cc; [ "$how" = -std=c11 ] || cc=c++; n=$e-${cc#c}; $cc -Wall -Wextra -pedantic -Werror $how -o $n-so $src -x none $(pkg-config --cflags --libs pugmark) && $cc $how -o $n-a $src -x none $(pkg-config --cflags pugmark) -Wl,-Bstatic -lpugmark -Ld/opt/p/lib -Wl,-Bdynamic $(pkg-config --libs --static pugmark | sed 's/-lpugmark//') || echo $n; done; done; ls *-so *-a; ldd simulate-c-so simulate-c-a 2>&1 | grep -c libpugmark
> filter-++-a
> filter-++-so
> filter-c-a
> filter-c-so
> simulate-++-a
> simulate-++-so
> simulate-c-a
> simulate-c-so
> sizes-++-a
> sizes-++-so
> sizes-c-a
> sizes-c-so
> 1
# Each prints what the command prints: for every simulator.
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; for f in blocks.pug real.pug formats/din.din formats/penn-sjeng-60.trace; do for s in $(pugmark sim --list | awk '{ print $1 }') 'cache:l1d=1k,2way,64;l2=8k,4way,64'; do pugmark sim --sim "$s" --json - $TESTS/data/$f >want 2>/dev/null; a=$?; ./simulate-c-so $TESTS/data/$f "$s" >got 2>/dev/null; b=$?; [ $a = $b ] && cmp want got || echo $f $s $a $b; echo >>n; done; done; wc -l <n
> 104
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; pugmark sim --cache l1d=1k,2way,64 --json want $TESTS/data/real.pug >/dev/null; for p in simulate-*; do ./$p $TESTS/data/real.pug cache:l1d=1k,2way,64 >got 2>/dev/null; cmp want got; done
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; pugmark convert -q --filter l1d=1k,2way,64 $TESTS/data/real.pug want.din; for p in filter-*; do ./$p $TESTS/data/real.pug got.din l1d=1k,2way,64 2>/dev/null; cmp want.din got.din; done
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; for p in sizes-*; do ./$p $TESTS/data/blocks.pug >$p.out; cmp $p.out sizes-++-a.out; done; cat sizes-c-a.out; ./sizes-c-so none
>     1 bytes: 83 read, 0 written
>     4 bytes: 1 read, 0 written
! sizes: none: cannot open: No such file or directory
? 1
# On no terminal nothing is shown as it goes on; what cannot be written is an error.
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; ./filter-c-so $TESTS/data/real.pug f.din l1d=4k; ./sizes-c-so $TESTS/data/real.pug >/dev/full; ./simulate-c-so $TESTS/data/real.pug cache:l1d=4k 2>&1 >/dev/full | tail -n 1
> simulate: cannot write: No space left on device
! sizes: cannot write: No space left on device
# A plug-in in a program of its own, also if the program has the library for itself alone.
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; ./simulate-c-so $TESTS/data/blocks.pug $BUILD/examples/hash.so 2>/dev/null; cp $BUILD/examples/old.so .; ./simulate-c-so $TESTS/data/blocks.pug ./old.so
> {
>   "schema": {"name": "pugmark.sim", "version": 1},
>   "hash": "0x2306057056f657c5",
>   "events": 132
> }
! simulate: the plug-in './old.so' was built for interface 1, this pugmark has 2: rebuild it
? 1
$ export LD_LIBRARY_PATH=$PWD/d/opt/p/lib; printf '%s\n' '#include <dlfcn.h>' '#include <stdio.h>' '#include <pugmark/library.h>' '#define F(f) __typeof__(&f) own_##f = (__typeof__(&f))dlsym(so, #f)' 'int main(int argc, char **argv) { void *so = dlopen("libpugmark.so.1", RTLD_NOW | RTLD_LOCAL); F(pm_simulation_new); F(pm_simulation_add); F(pm_err_format); struct pm_err err; char text[300]; int s = own_pm_simulation_add(own_pm_simulation_new(&err), argv[1], &err); own_pm_err_format(&err, text, sizeof text); puts(s ? text : "loaded"); return 0; }' >alone.c; cc -o alone alone.c -Id/opt/p/include && ./alone $BUILD/examples/hash.so
> loaded
# Away goes what came, and nothing else.
$ make -s -C "$TOP" B="${BUILD#$TOP/}" DESTDIR="$PWD/d" PREFIX=/opt/p uninstall; find d ! -type d; ls d/opt/p/share/doc d/opt/p/include
> d/opt/p/share/doc/pugmark/mine
> d/opt/p/include:
>
> d/opt/p/share/doc:
> pugmark
