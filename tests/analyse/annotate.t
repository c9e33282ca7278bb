# Costs beside the code: a program whose loads, loops and misses can be counted by hand.
$ "$BUILD/tests/oracle/steptrace" costs.trace "$PROGRAMS/costs"; pugmark annotate --source "$TOP" --object "$PROGRAMS/costs@0" -e Ir,Dr,D1mr,D1mw,Bc costs.trace
>       Ir      Dr    D1mr    D1mw      Bc  function (most Ir first)
>      521     130      64       1     128  total
>      516     130      64       .     128  walk  costs
>        5       .       .       1       .  _start  costs
>
> walk  costs
>       Ir      Dr    D1mr    D1mw      Bc
>        2       .       .       .       .  costs.S:12  walk:   xor     %ecx, %ecx
>        2       .       .       .       .      401000  xor %ecx, %ecx
>      128     128      64       .       .  costs.S:13  next:   mov     table(%...
>      128     128      64       .       .      401002  mov 0x402000(%rcx), %eax
>      128       .       .       .       .  costs.S:14          add     $64, %ecx
>      128       .       .       .       .      401008  add $0x40, %ecx
>      128       .       .       .       .  costs.S:15          cmp     $4096, ...
>      128       .       .       .       .      40100b  cmp $0x1000, %ecx
>      128       .       .       .     128  costs.S:16          jne     next
>      128       .       .       .     128      401011  jnz 0x401002
>        2       2       .       .       .  costs.S:17          ret
>        2       2       .       .       .      401013  ret
>
> _start  costs
>       Ir      Dr    D1mr    D1mw      Bc
>        1       .       .       1       .  costs.S:22  _start: call    walk
>        1       .       .       1       .      401014  call 0x401000
>        1       .       .       .       .  costs.S:23          call    walk
>        1       .       .       .       .      401019  call 0x401000
>        1       .       .       .       .  costs.S:24          mov     $60, %eax
>        1       .       .       .       .      40101e  mov $0x3c, %eax
>        1       .       .       .       .  costs.S:25          xor     %edi, %edi
>        1       .       .       .       .      401023  xor %edi, %edi
>        1       .       .       .       .  costs.S:26          syscall
>        1       .       .       .       .      401025  syscall
$ pugmark annotate --lines --source "$TOP" --object "$PROGRAMS/costs@0" -e Ir,D1mr costs.trace | sed 's,^/.*/tests,tests,'
>       Ir    D1mr  function (most Ir first)
>      521      64  total
>      516      64  walk  costs
>        5       .  _start  costs
>
> tests/programs/costs.S
>       Ir    D1mr
>        .       .    10          .text
>        .       .    11          .type   walk, @function
>        2       .    12  walk:   xor     %ecx, %ecx
>      128      64    13  next:   mov     table(%rcx), %eax
>      128       .    14          add     $64, %ecx
>      128       .    15          cmp     $4096, %ecx
>      128       .    16          jne     next
>        2       .    17          ret
>        .       .    18          .size   walk, . - walk
>        .       .    19  
>        .       .    20          .globl  _start
>        .       .    21          .type   _start, @function
>        1       .    22  _start: call    walk
>        1       .    23          call    walk
>        1       .    24          mov     $60, %eax
>        1       .    25          xor     %edi, %edi
>        1       .    26          syscall
>        .       .    27          .size   _start, . - _start
>        .       .    28          .section .note.GNU-stack, "", @progbits
# Intel's syntax; one function; another order.
$ pugmark annotate --syntax intel --function _start --object "$PROGRAMS/costs@0" -e Ir costs.trace
>       Ir  function (most Ir first)
>      521  total
>        5  _start  costs
>
> _start  costs
>       Ir
>        1  costs.S:22
>        1      401014  call 0x401000
>        1  costs.S:23
>        1      401019  call 0x401000
>        1  costs.S:24
>        1      40101e  mov eax, 0x3c
>        1  costs.S:25
>        1      401023  xor edi, edi
>        1  costs.S:26
>        1      401025  syscall
$ pugmark annotate -n 1 --sort D1mw --object "$PROGRAMS/costs@0" -e D1mw,Ir costs.trace | head -3
>     D1mw      Ir  function (most D1mw first)
>        1     521  total
>        1       5  _start  costs
# The other simulators that tell instructions apart: the sums are theirs.
$ pugmark annotate -s 'cache:l1i=1k;l1d=8k,full,32;l2=16k,full;byinsn' -s 'bpred:gshare=4;tage' -s core:byinsn --object "$PROGRAMS/costs@0" --csv csv -o text costs.trace; sed -n 's/^annotate.total.\([A-Za-z0-9]*,[0-9]*\),.*/\1/p' csv | tee sums | tr '\n' ' '
>- l1im,1 l1dm,65 l2m,66 Br,132 gsharem,12 tagem,2 Ir,521 Fm,1 Lm,3 Llm,2 Bm,2 Cbr,0 Cfe,300 Cme,279 Cst,0 Cco,82 
$ sed -n 's/^core.stall_memory,\([0-9]*\),.*/Cme,\1/p; s/^core.stall_fetch,\([0-9]*\),.*/Cfe,\1/p; s/^bpred.tage.*.mispredictions,\([0-9]*\),branches/tagem,\1/p' csv | sort -u | grep -cxFf sums
> 3
# Callgrind's own reader takes it: events, calls, inclusive costs.
$ pugmark annotate --callgrind cg --object "$PROGRAMS/costs@0" -o text costs.trace; sed -n 's/^\(events\|totals\): /\1 /p' cg; grep -c '^event: D1mr : data reads that missed D1$' cg; sed -n '/^cfn=walk/,/^0x/p' cg
> events Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
> totals 521 1 1 130 64 64 2 1 1 128 18 0 0
> 1
> cfn=walk
> calls=2 0x401000 12
> 0x401014 22 516 0 0 130 64 64 0 0 0 128 18 0 0
# What cannot be is said.
$ pugmark annotate -e Ir,Mr costs.trace
! pugmark: 'Mr' is not an event; there are: Ir, I1mr, ILmr, Dr, D1mr, DLmr, Dw, D1mw, DLmw, Bc, Bcm, Bi, Bim
? 1
# ... before anything is counted or written: that the trace is cut off is not found out.
$ head -n 100 costs.trace > cut.trace; echo no line >> cut.trace; for o in '--sort Nothing' '-e Ir,Mr'; do pugmark annotate $o --json o.json --html o.html cut.trace 2>&1 | cut -c 1-30; done; ls | grep -c '^o\.'
> pugmark: 'Nothing' is not an e
> pugmark: 'Mr' is not an event;
> 0
? 1
$ pugmark annotate --sort Nothing costs.trace
! pugmark: 'Nothing' is not an event; there are: Ir, I1mr, ILmr, Dr, D1mr, DLmr, Dw, D1mw, DLmw, Bc, Bcm, Bi, Bim
? 1
$ pugmark annotate --function main --object "$PROGRAMS/costs@0" costs.trace
! pugmark: no function 'main' was executed
? 1
$ pugmark annotate -s reuse costs.trace
! pugmark: none of the simulators counts per instruction; cachegrind, cache:...;byinsn, bpred and core:byinsn do
? 1
$ ln -s "$PROGRAMS/costs" costs; pugmark annotate --object costs costs.trace
! pugmark: expected PATH@ADDRESS, as in /usr/bin/gzip@0x555555554000, found 'costs'
? 1
$ pugmark annotate --object ./costs.trace@0 costs.trace
! pugmark: ./costs.trace: expected an ELF header (7f 45 4c 46) or "#!", found 19 00 00 00
? 1
$ pugmark annotate --syntax nasm costs.trace
! pugmark: --syntax expects att or intel, not 'nasm' (see `pugmark annotate --help`)
? 2
$ pugmark annotate "$TESTS/data/formats/ramulator.ramulator"
! pugmark: Ramulator traces hold no instruction boundaries; 'cachegrind' needs them (`pugmark run --exec` traces them)
? 1
# What an earlier run has stored is shown without another: callgrind files of `run`, of `annotate` itself, and counts.
$ pugmark run -q --annotate now --callgrind cg --counts counts -- "$PROGRAMS/costs"; pugmark annotate cg | diff - now && echo equal; pugmark annotate -e Ir counts.1 > a; pugmark annotate -e Ir cg | diff - a && echo equal
> equal
> equal
$ pugmark annotate -n 1 --source "$TOP" cg | head -8
>       Ir      Dr      Dw  function (most Ir first)
>      521     130       2  total
>      516     130       .  walk  costs
>        5       .       2  _start  costs
>
> walk  costs
>       Ir      Dr      Dw
>        2       .       .  costs.S:12  walk:   xor     %ecx, %ecx
$ pugmark annotate --object "$PROGRAMS/costs@0" -o traced --callgrind cg2 costs.trace; pugmark annotate cg2 | diff - traced && echo equal
> equal
# As callgrind writes them: names by number, positions relative, calls and jumps between.
$ p=$PROGRAMS/costs; printf '%s\n' '# callgrind format' 'version: 1' 'creator: callgrind-3.19.0' 'positions: instr line' 'events: Ir Dr' "cob=(7) $p" 'ob=(7)' 'fn=(1) walk' '0x401000 12 2' '+2 +1 128 128' 'jcnd=126/128 +15 *' '+15 *' '-9 +1 128' 'calls=3 0x401000 12' '* * 900 7' '-6 * 5' > small; pugmark annotate -e Ir,Dr small | sed -n '1,4p; /^ .*  40/p'
>       Ir      Dr  function (most Ir first)
>      263     128  total
>      263     128  walk  costs
>
>        2       .      401000  xor %ecx, %ecx
>      133     128      401002  mov 0x402000(%rcx), %eax
>      128       .      401008  add $0x40, %ecx
$ sed 's/^0x401000.*/0x401000 12 x/' small > bad; pugmark annotate bad
! pugmark: bad:9: expected a number for each event, found '0x401000 12 x'
? 1
$ sed 's/instr line/line/' small > bad; pugmark annotate bad
! pugmark: bad:9: expected addresses of instructions (`positions: instr line`); callgrind writes them with --dump-instr=yes
? 1
$ head -5 small > bad; pugmark annotate bad
! pugmark: bad: the profile holds no costs
? 1
$ printf '0x401000 1\n0x401002 many\n' > bad; pugmark annotate bad
! pugmark: bad:2: expected an address and a count, found '0x401002 many'
? 1
$ pugmark annotate -s bpred small
! pugmark: a stored profile has its costs: --sim needs a trace (see `pugmark annotate --help`)
? 2
