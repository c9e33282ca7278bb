# needs: prlimit script
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer wants what is limited here'; false; }
# What the machine allows. What is tested here is what a limit that anybody can set changes; all else depends on the machine.
$ unset PUGMARK_COLUMNS; pugmark doctor >out; echo $?; awk '{ print $2 }' out | tr '\n' ' '; echo; grep -vcE '^(ok      |limited |cannot  ) [a-z0-9-]+ +[^ ]' out; sed -n 's/^\(ok  *run\) .*\(executed\) [0-9]* \(.*\)/\1 \2 N \3/p' out
> 0
> processor kernel ptrace seccomp namespaces 32-bit addresses memory limits proc cache temporary helpers run 
> 0
> ok       run executed N instructions, twice
# JSON says the same.
$ unset PUGMARK_COLUMNS; pugmark doctor --json j; pugmark doctor >out; grep -c '"works": true' j; sed -n 's/^ *"name": "\(.*\)",/\1/p' j | tr '\n' ' '; sed -n 's/^ *"verdict": "\(.*\)",/\1/p' j >a; awk '{ print $1 }' out | cmp - a
> 1
>- processor kernel ptrace seccomp namespaces 32-bit addresses memory limits proc cache temporary helpers run 
# A hard limit on addresses or on the size of files: it cannot run, and why stands there twice: as the limit and as what run says.
$ unset PUGMARK_COLUMNS; p() { prlimit "$@" sh -c 'pugmark doctor; echo "? $?"' | grep -E '^(cannot|[?]|limited +limits)' | sed 's/[0-9][0-9]* [GMK]iB/N/g; s/;.*/;.../; s,/[^ ]*/true,true,'; }; p --as=900000000:900000000; p --fsize=900000:900000; p --as=900000000:; p --nofile=20:20 | grep limits
> cannot   limits      the hard limit on address space is N;...
> cannot   run         `pugmark run -- true` fails: tracing needs N, most of which is only reserved;...
> ? 1
> cannot   limits      address space unlimited;...
> cannot   run         `pugmark run -- true` fails: tracing needs N, most of which is only reserved;...
> ? 1
> ? 0
> limited  limits      address space unlimited;...
# No directory for translations, one that cannot be used: limited, and it runs.
$ unset PUGMARK_COLUMNS; c() { "$@" sh -c 'pugmark doctor; echo "? $?"' | grep -E ' cache |^[?]' | sed "s,$PWD,PWD,; s/; [0-9]* MiB.*//; s/[0-9]* MiB/N MiB/; s/[0-9]* files/N files/"; }; c env -u HOME -u XDG_CACHE_HOME; mkdir -p open/pugmark; chmod 777 open/pugmark; c env XDG_CACHE_HOME="$PWD/open"; c env XDG_CACHE_HOME="$PWD/new"
> limited  cache       no directory for translations: neither XDG_CACHE_HOME nor HOME is set; each run translates anew -> --cache-dir DIR
> ? 0
> limited  cache       PWD/open/pugmark has N MiB in N files; it is not used: it must be a directory of yours to which nobody else can write
> ? 0
> ok       cache       PWD/new/pugmark is not there yet: the first run makes it
> ? 0
# ptrace() refused: limited, and it runs.
$ unset PUGMARK_COLUMNS; ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" pugmark doctor | grep -E ' (ptrace|run) ' | cut -c1-40; echo $?
> limited  ptrace      refused; pugmark lo
> ok       run         /usr/bin/true execu
> 0
# A PATH without `true`.
$ unset PUGMARK_COLUMNS; PATH=$(dirname "$(command -v pugmark)") pugmark doctor | tail -1
> cannot   run         there is no `true` to be traced
# Colours: on a terminal, where one asks for them, and not into pipes.
$ esc() { tr '\033' E | sed -n '/kernel  /s/\(.*m\)* .*kernel.*/\1/p' | cut -c1-7; }
+ pugmark doctor | esc; pugmark doctor --color=always | esc; NO_COLOR=1 CLICOLOR_FORCE=1 pugmark doctor | esc; CLICOLOR_FORCE=1 pugmark doctor | esc; CLICOLOR_FORCE=0 pugmark doctor | esc; NO_COLOR= CLICOLOR_FORCE=1 pugmark doctor --color never | esc; TERM=xterm script -qec 'pugmark doctor' /dev/null | esc; TERM=dumb script -qec 'pugmark doctor' /dev/null | esc; NO_COLOR=1 TERM=xterm script -qec 'pugmark doctor' /dev/null | esc
> ok
> E[32mok
> ok
> E[32mok
> ok
> ok
> E[32mok
> ok
> ok
$ unset PUGMARK_COLUMNS; pugmark doctor me
! pugmark: unexpected operand 'me' (see `pugmark doctor --help`)
? 2
