# Code that could not be known when a program was instrumented: the installed translator adds it, and without
# one the program says where it is and stops.
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __tsan' || { echo 'the thread sanitizer leaves too few addresses'; false; }
$ gcc -O1 -o later "$TESTS/process/later.c" -ldl; for k in -p -b -c -e; do pugmark idt $k later; ./later >want; ./later.idt >got; echo $? $(cmp want got && grep -c '^@' later.mod) $(pugmark idtinfo later | grep -c good); done
> 0 1 4
> 0 1 4
> 0 1 4
> 0 1 4
$ env -i PATH=/nowhere ./later.idt 2>err; echo $?; sed 's/0x[0-9a-f]*/ADDRESS/' err
> 125
> pugmark: control reaches ADDRESS, which is not in the instrumented program and could not be known ahead of time
$ env -i PUGMARK="$(command -v pugmark)" ./later.idt | cmp - want
$ PUGMARK=/nowhere/pugmark ./later.idt 2>&1 | sed 's/0x[0-9a-f]*/ADDRESS/'
> pugmark: control reaches ADDRESS, which is not in the instrumented program and could not be known ahead of time
# Its trace is the one that run writes, library and all; so it is of a regular expression that is compiled to
# machine code. (Lazy binding uses xsave, of which instrumented programs tell less.
# And with few libraries only: without a vDSO the dynamic linker needs the next page of its heap later, perhaps beyond another one.)
$ "$TESTS/process/same" later
> same output
> later: same events
> many
> 0
$ cat >match.c <<'E'
+ #include <stdint.h>
+ #include <stdio.h>
+ #include <string.h>
+ void *pcre2_compile_8(const char *, size_t, uint32_t, int *, size_t *, void *), *pcre2_match_data_create_from_pattern_8(void *, void *);
+ int pcre2_jit_compile_8(void *, uint32_t), pcre2_match_8(void *, const char *, size_t, size_t, uint32_t, void *, void *);
+ static void matches(const char *pattern, const char *text)
+ {
+ 	int error; size_t at;
+ 	void *re = pcre2_compile_8(pattern, strlen(pattern), 0, &error, &at, NULL);
+ 	if (!re || pcre2_jit_compile_8(re, 1))
+ 		puts("not compiled");
+ 	else
+ 		printf("%s: %d\n", text, pcre2_match_8(re, text, strlen(text), 0, 0, pcre2_match_data_create_from_pattern_8(re, NULL), NULL));
+ }
+ int main(void)
+ {
+ 	matches("(a+b|c[d-f]*)+x", "aaabcdefx"); matches("(a+b|c[d-f]*)+x", "aabbbx");
+ 	matches("^(\\w+)\\s(\\d+)$", "hello 42"); matches("^(\\w+)\\s(\\d+)$", "hello x");
+ 	return 0;
+ }
+ E
+ gcc -O1 -o match match.c -l:libpcre2-8.so.0 && "$TESTS/process/same" match; cat out; grep -c 'gen$' match.mod | awk '{ print ($1 > 0) }'
> same output
> match: same events
> many
> 0
> aaabcdefx: 2
> aabbbx: -1
> hello 42: 3
> hello x: -1
> 1
# What programs do with generated code, in each kind of trace.
$ I=$TESTS/process/instrumented; "$I" smc; "$I" dl; "$I" moved
> equal: status 0, 12 lines
> equal: status 0, 1 lines
> equal: status 0, 0 lines
$ rm smc.idt dl.idt moved.idt; I=$TESTS/process/instrumented; "$I" -o -e smc; "$I" -o -b dl; "$I" -o -e moved
> equal: status 0, 12 lines
> equal: status 0, 1 lines
> equal: status 0, 0 lines
# Real programs that live on it.
$ cat >fib.lua <<'E'
+ local s = 0
+ for i = 1, 300000 do s = (s * 3 + i) % 1000003 end
+ local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
+ print(s, fib(20), (("x"):rep(1000):gsub("x", function(c) return c .. "y" end)):len())
+ E
$ cp "$(command -v luajit)" luajit; ./luajit fib.lua >want; for k in -p -e; do pugmark idt $k luajit; ./luajit.idt fib.lua | cmp - want; done; pugmark vcount luajit | grep -c '^instructions:'
> 1
$ cat >all.py <<'E'
+ import ctypes, decimal, hashlib, json, math, os, re, sys, zlib
+ print(json.dumps({"a": [1, 2]}), re.sub("a+", "b", "caat"), decimal.Decimal("1.1") * 3, hashlib.sha256(b"x").hexdigest())
+ print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: 2 * x)(21))
+ sys.stdout.flush()
+ if not os.fork():
+     import sqlite3
+     print(sqlite3.connect(":memory:").execute("select 1 + 1").fetchone(), flush=True)
+     os._exit(0)
+ os.wait()
+ import sqlite3
+ print(sqlite3.connect(":memory:").execute("select 2 + 2").fetchone())
+ E
$ cp "$(readlink -f /usr/bin/python3)" python; ./python all.py >want; pugmark idt python; ./python.idt all.py | cmp - want; ls python.cnt64* | wc -l | awk '{ print ($1 > 1) }'; grep -c '^@' python.mod | awk '{ print ($1 > 2) }'
> 1
> 1
# Two processes that get there one after the other, without having the translator from the same parent.
$ gcc -O1 -o two "$TESTS/process/two.c" -ldl; pugmark idt -e two; ./two.idt; for t in two.trc64*; do pugmark info -f idt-exec64:modules=two.mod,blk=two.blk64 $t >said 2>&1 && echo good || cat said; done
> 0.909
> 1.000
> -0.416
> good
> good
> good
# The translator of the process before is still there, and has ended its work.
$ printf '#include <unistd.h>\n__attribute__((destructor)) static void late(void) { usleep(300000); }\n' | gcc -xc -shared -fPIC -o late.so -
$ printf '#!/bin/sh\nASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=%s/late.so exec %s "$@"\n' "$PWD" "$(command -v pugmark)" >late; chmod +x late; PUGMARK=$PWD/late ./two.idt
> 0.909
> 1.000
> -0.416
# A jump into the middle of a block.
$ cat >middle.S <<'E'
+ 	.globl	_start
+ _start:	mov	$5, %ebx
+ 	lea	block(%rip), %rax
+ 	xor	%ecx, %ecx
+ again:	lea	block(%rip), %rdx
+ 	add	%rcx, %rdx
+ 	mov	$1, %esi
+ 	jmp	*%rdx
+ block:	inc	%esi
+ 	inc	%esi
+ 	inc	%esi
+ 	add	%esi, %edi
+ 	add	$2, %rcx
+ 	cmp	$8, %rcx
+ 	jne	again
+ 	mov	$60, %eax
+ 	syscall
+ E
$ gcc -nostdlib -static -Wl,--build-id=none -o middle middle.S; ./middle; echo $?; for k in -p -b -e; do pugmark idt $k middle; ./middle.idt; echo $? $(pugmark vcount --json - middle | grep '"instructions"' | tr -dc 0-9); done; "$TESTS/process/same" middle | sed 1d
> 10
> 10 43
> 10 43
> 10 43
> middle: same events
> 43
> 0
# The translator's memory file, if it is not one, or one of another version.
$ pugmark idt --serve 3 middle 3</dev/null; truncate -s 8192 zero; pugmark idt --serve 3 middle 3<>zero; echo $?
! pugmark: middle: descriptor 3 is not its memory file
! pugmark: middle: it was instrumented by another version
> 1
