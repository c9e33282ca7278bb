# tests/trace/chrome.t - timelines: Perfetto's importer takes all of them
# needs: python3 gcc g++
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.json && $TESTS/oracle/chrome-trace k.json
> M:2 X:1 i:11
$ pugmark convert -q -t chrome:every=100 $TESTS/data/formats/steps.drmemtrace s.json && $TESTS/oracle/chrome-trace s.json
> C:12 M:2 X:2
# system calls, those that never return as well; signals; several processes
$ pugmark run -q -t chrome -o r.json -- sh -c 'trap : USR1; kill -USR1 $$; (sleep 0.01; exit 3) & wait; echo "\"\\" | cat >/dev/null; exec true' ; $TESTS/oracle/chrome-trace r.json | sed 's/[0-9][0-9]*/N/g'
> C:N M:N X:N i:N
# processes have their programs' names, and system calls theirs
$ pugmark run -q -t chrome -o n.json -- sh -c 'ls / | sort >/dev/null'; sed -n 's/.*process_name.*"name":"\([a-z]*\) [0-9]*".*/\1/p' n.json | sort -u; grep -c '"name":"syscall' n.json; grep -o '"name":"[a-z0-9_]*","cat":"syscall"' n.json | grep -e execve -e pipe2 -e wait4 | sort -u; grep -c 'thread_name.*stream' n.json
> dash
> ls
> sh
> sort
> 0
> "name":"execve","cat":"syscall"
> "name":"pipe2","cat":"syscall"
> "name":"wait4","cat":"syscall"
> 0
? 1
# calls of functions: the names and counts that the simulator of calls reports, also of a region, of gzip
$ cat >fib.c <<'END'
+ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
+ int main(void) { return fib(10); }
+ END
$ gcc -O1 -fno-inline -fno-optimize-sibling-calls -o fib fib.c && pugmark run -q -o fib.pug -- ./fib
? 55
$ pugmark convert -q -t chrome:min=0 fib.pug fib.json && pugmark sim -s calls:top=1000000 --json fib.calls fib.pug >/dev/null && $TESTS/oracle/chrome-calls fib.json fib.calls | sed 's/.*functions.*/same/'; grep -c '"name":"fib","cat":"call"' fib.json; $TESTS/oracle/chrome-trace fib.json >/dev/null
> same
> 177
$ pugmark slice -q -t chrome:min=0 --from 50000 --count 50000 fib.pug part.json && pugmark slice -q --from 50000 --count 50000 fib.pug part.pug && pugmark sim -s calls:top=1000000 --json part.calls part.pug >/dev/null && $TESTS/oracle/chrome-calls part.json part.calls | sed 's/.*functions.*/same/'; $TESTS/oracle/chrome-trace part.json >/dev/null
> same
$ seq 2999 >numbers; pugmark run -q --exec -o gzip.pug -- gzip -kf numbers && pugmark convert -q -t chrome:min=0 gzip.pug gzip.json && pugmark sim -s calls:top=1000000 --json gzip.calls gzip.pug >/dev/null && $TESTS/oracle/chrome-calls gzip.json gzip.calls | sed 's/.*functions.*/same/'; $TESTS/oracle/chrome-trace gzip.json >/dev/null
> same
# short ones are left out
$ for min in 1 1000 100000; do pugmark convert -q -t chrome:min=$min gzip.pug m.json; grep '"cat":"call"' m.json | sed 's/.*"instructions":\([0-9]*\).*/\1/' | awk -v min=$min '{ n++; low += $1 < min } END { print (n > 0), low + 0 }'; done; pugmark convert -q -t chrome gzip.pug d.json; pugmark convert -q -t chrome:min=1000 gzip.pug m.json; cmp d.json m.json; pugmark convert -t chrome:min=few gzip.pug m.json
> 1 0
> 1 0
> 1 0
! pugmark: min=few: expected a number of instructions
? 2
# what does not return: longjmp, tail calls, a handler, a handler that jumps, an exception, a death
$ cat >odd.c <<'END'
+ #include <setjmp.h>
+ #include <signal.h>
+ static sigjmp_buf back;
+ volatile int n;
+ #define F __attribute__((noinline))
+ F void helper(void) { n++; }
+ F void after(void) { n++; }
+ F void deep(int k) { if (k) deep(k - 1); else siglongjmp(back, 1); n++; }
+ F void last(void) { n++; }
+ F void tail(void) { n++; last(); }
+ F void handler(int s) { helper(); if (s == SIGUSR2) siglongjmp(back, 1); n++; }
+ F int *crash(int *p) { helper(); n = *p; return p; }
+ int main(void)
+ {
+ 	signal(SIGUSR1, handler);
+ 	signal(SIGUSR2, handler);
+ 	if (!sigsetjmp(back, 1))
+ 		deep(2);
+ 	after();
+ 	tail();
+ 	after();
+ 	raise(SIGUSR1);
+ 	after();
+ 	if (!sigsetjmp(back, 1))
+ 		raise(SIGUSR2);
+ 	after();
+ 	crash(0);
+ 	return 0;
+ }
+ END
$ gcc -O2 -o odd odd.c && pugmark run -q -t chrome:min=0 -o odd.json -- ./odd 2>/dev/null
? 139
$ $TESTS/oracle/chrome-trace odd.json >/dev/null; $TESTS/oracle/chrome-calls odd.json tree main deep tail last after handler helper crash
> main
>   deep
>     deep
>       deep
>   after
>   tail
>   after
>   handler
>     helper
>   after
>   handler
>     helper
>   after
>   crash
>     helper
$ cat >throw.cc <<'END'
+ #include <stdexcept>
+ volatile int n;
+ #define F extern "C" __attribute__((noinline))
+ F void after() { n++; }
+ F void deep(int k) { if (k) deep(k - 1); else throw std::runtime_error("here"); n++; }
+ F void middle() { try { deep(2); } catch (const std::logic_error &) { n++; } after(); }
+ int main() { try { middle(); } catch (const std::exception &) { after(); } after(); return 0; }
+ END
$ g++ -O2 -o throw throw.cc && pugmark run -q -t chrome:min=0 -o throw.json -- ./throw; $TESTS/oracle/chrome-trace throw.json >/dev/null; $TESTS/oracle/chrome-calls throw.json tree main middle deep after
> main
>   middle
>     deep
>       deep
>         deep
>   after
>   after
# one that ends anywhere, as a whole and cut off
$ for n in 1 1000 60000; do pugmark run -q -t chrome:min=0 -o for.json --for $n -- ./odd 2>/dev/null; $TESTS/oracle/chrome-trace for.json | grep -c X:; done; for p in jumps signals exceptions; do pugmark run -q -t chrome:min=0 -o p.json --for 200000 -- $PROGRAMS/$p >/dev/null; $TESTS/oracle/chrome-trace p.json | grep -c X:; done
> 1
> 1
> 1
> 1
> 1
> 1
$ head -c 30000 gzip.pug >cut.pug; pugmark convert -q -t chrome cut.pug cut.json 2>/dev/null; echo $?; ls cut.json 2>/dev/null
> 1
? 2
# what it is that would be seen
$ sed 's/"dur":[0-9.]*/"dur":-1/' k.json >bad.json; $TESTS/oracle/chrome-trace bad.json | cut -c1-40
> event 13: no duration: {"name": "task 10
> M:2 X:1 i:11
