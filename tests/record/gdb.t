# gdb looks at a recording of a threaded program: who has written over a variable is found backwards.
# needs: gdb
# timeout: 240
$ cat > bank.c <<'end'
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ static struct { char owner[8]; long balance; } account = { "nobody", 1000 };
+ static float half = 0.5;
+ static void *deposits(void *arg)
+ {
+ 	for (int i = 0; i < 20; i++)
+ 		__atomic_fetch_add(&account.balance, 1, 5);
+ 	return 0;
+ }
+ static void *renames(void *arg)
+ {
+ 	for (char *to = account.owner, *from = arg; (*to++ = *from++); )
+ 		;
+ 	return 0;
+ }
+ static void handler(int sig) { half *= sig; }
+ static void check(long balance) { printf("balance %ld\n", balance); }
+ int main(void)
+ {
+ 	pthread_t t[2];
+ 	signal(SIGUSR1, handler);
+ 	pthread_create(&t[0], 0, deposits, 0);
+ 	pthread_join(t[0], 0);
+ 	pthread_create(&t[1], 0, renames, "Ferdinand");
+ 	pthread_join(t[1], 0);
+ 	raise(SIGUSR1);
+ 	check(account.balance);
+ }
+ end
$ gcc -g -no-pie -pthread -o bank bank.c && pugmark record -q -o bank.pugrec -- ./bank
> balance 100
$ cat > look <<'end'
+ file=$1; shift
+ { printf '%s\n' 'set pagination off' 'set confirm off' 'set sysroot /' "$START"; printf '%s\n' "$@"; } > script
+ timeout 200 gdb -nx -q -batch -iex 'set remotetimeout 100' -x script ./bank 2>&1 | grep "$SHOW" | sed 's/Thread [0-9]*\.*[0-9]* /Thread N /; s/^\[Switching.*//; /^$/d'
+ end
# From where it was checked back to the last store, and to the one before, which is another thread's.
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='hit\|value\|^[a-z]* (' sh look bank 'break check' continue 'watch -l account.balance' reverse-continue reverse-continue
> Thread N hit Hardware watchpoint 2: -location account.balance
> Old value = 100
> New value = 868
> Thread N hit Hardware watchpoint 2: -location account.balance
> Old value = 868
> New value = 1020
# Who reads it, and who reads or writes it: an atomic addition does both.
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='hit\|alue\|^[a-z]* (' sh look bank 'break check' continue 'rwatch -l account.balance' reverse-continue reverse-continue 'delete 2' 'awatch -l account.balance' reverse-continue continue continue
> Value = 100
> main () at bank.c:29
> Thread N hit Hardware read watchpoint 2: -location account.balance
> Value = 100
> Thread N hit Hardware access (read/write) watchpoint 3: -location account.balance
> Old value = 100
> New value = 868
> Thread N hit Hardware access (read/write) watchpoint 3: -location account.balance
> Old value = 868
> New value = 100
> Thread N hit Hardware access (read/write) watchpoint 3: -location account.balance
> Value = 100
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='hit\|alue\|^[a-z]* (' sh look bank 'awatch -l account.balance' continue 'delete 1' 'rwatch -l account.balance' continue 'watch -l account.balance' continue
> Thread N hit Hardware access (read/write) watchpoint 1: -location account.balance
> Old value = 1000
> New value = 1001
> deposits (arg=0x0) at bank.c:8
> Thread N hit Hardware read watchpoint 2: -location account.balance
> Value = 1002
> deposits (arg=0x0) at bank.c:8
> Thread N hit Hardware watchpoint 3: -location account.balance
> Old value = 1002
> New value = 1003
> deposits (arg=0x0) at bank.c:8
# The libraries that are loaded: none at first, then those of the dynamic linker's list, and none again.
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='\.so\|received' sh look bank 'info sharedlibrary' 'maint packet qXfer:libraries-svr4:read::0,fff' 'break check' continue 'info sharedlibrary' 'maint packet qXfer:libraries-svr4:read::0,fff' reverse-continue 'info sharedlibrary' | sed 's/^0x.* Yes *\((.)\)* *//; s/"0x[0-9a-f]*"/N/g; s/^received: //; s/^0x[0-9a-f]* in .* from .*ld-linux.*/back/; s/.* in _start.*/back/; s#/[a-z][^ "]*/##g'
> back
> ld-linux-x86-64.so.2
> "l<library-list-svr4 version="1.0"></library-list-svr4>"
> ld-linux-x86-64.so.2
> libc.so.6
> "l<library-list-svr4 version="1.0" main-lm=N><library name="libc.so.6" lm=N l_addr=N l_ld=N lmid=N/><library name="ld-linux-x86-64.so.2" lm=N l_addr=N l_ld=N lmid=N/></library-list-svr4>"
> back
> ld-linux-x86-64.so.2
# Breakpoints forwards and back, steps forwards and back, where a signal's handler is.
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='hit\|^\$\|^[a-z]* (' sh look bank 'break handler' 'break deposits' continue continue 'print $rdi' 'print half' 'stepi 3' 'reverse-stepi 3' 'print $pc == &handler' reverse-continue 'print account.balance' next next reverse-next
> Thread N hit Breakpoint 2, deposits (arg=0x0) at bank.c:8
> Thread N hit Breakpoint 1, handler (sig=10) at bank.c:18
> $1 = 10
> $2 = 0.5
> Thread N hit Breakpoint 1, handler (sig=10) at bank.c:18
> $3 = 0
> Thread N hit Breakpoint 2, deposits (arg=0x0) at bank.c:8
> $4 = 1000
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='^\$' sh look bank 'break handler' continue 'stepi 7' 'print $xmm0.v4_float[0]' 'print $xmm1.v4_float[0]' 'print $eflags & 2' 'print $rsp' 'set $a = $rsp' reverse-continue 'stepi 40' 'reverse-stepi 40' 'print $pc' 2>&1 | sed 's/0x7ff[0-9a-f]*/STACK/'
> $1 = 5
> $2 = 10
> $3 = 2
> $4 = (void *) STACK
> $5 = (void (*)()) 0x4011df <handler+7>
# All of it: from the end to the beginning. Threads and the auxiliary vector. Nothing can be changed.
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='No more\|Reached end\|AT_PAGESZ\|^[*] [0-9] ' sh look bank continue reverse-continue 'info auxv' 'break renames' continue 'info threads' | sed 's/ at .*//; s/(.*//; s/   *N/ N/; s/Thread N  */Thread N /; s/No more.*/the end/; s/Reached end.*/the end/'
> the end
> the end
> 6    AT_PAGESZ            System page size               4096
> * 2    Thread N renames 
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='Cannot\|Could' sh look bank 'break check' continue 'print account.balance = 5'
> Cannot access memory at address 0x404048
$ START='target remote | pugmark gdb --stdio bank.pugrec' SHOW='Cannot\|Could' sh look bank 'break check' continue 'print $rax = 1' | sed "s/'E01'/'01'/"
> Could not write register "rax"; remote failure reply '01'
# On a socket. Without a debugger.
$ pugmark gdb --socket s bank.pugrec 2>said & until [ -S s ]; do sleep 0.05; done; START='target remote s' SHOW='^[a-z]* (\|check (' sh look bank 'break check' continue; wait; cat said; ls s
> Breakpoint 1, check (balance=100) at bank.c:19
> pugmark: note: waiting for gdb: target remote s
! ls: cannot access 's': No such file or directory
? 2
$ pugmark gdb --stdio bank.pugrec </dev/null
$ pugmark gdb bank.pugrec
! pugmark: expected --stdio or --socket PATH (see `pugmark gdb --help`)
? 2
$ echo no > x; pugmark gdb --stdio x </dev/null
! pugmark: x:0x0: not a recording
? 1
