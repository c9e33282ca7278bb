# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer tells of faults itself'; false; }
# Whatever has happened to files of the cache, a run goes as it does without one; what is no good is removed, one line says so,
# and the next run finds all in order. Times of modification are kept: who damages a file may have an earlier one.
# needs: perl
$ cat > run.sh <<'E'
+ run() { pugmark run -q --cache-dir "$PWD/d" -- sh -c 'expr 6 + 7; exit 5' < /dev/null; }
+ fresh() { rm -rf d; cp -a kept d; chmod u+w d/*; }
+ check() { { run 2> log; echo $?; } > got; cmp want got > /dev/null || { echo "$*:"; cat got log; }; }
+ E
+ . ./run.sh; printf '13\n5\n' > want; for i in 1 2 3; do check; sleep 0.05; done; cp -a d kept
# Bits, runs of bytes, pages, ends: in headers, and anywhere.
$ cat > harm.pl <<'E'
+ my ($seed, $file) = @ARGV; srand 77 + $seed;
+ my $size = -s $file; my ($how, $at) = ($seed % 5, int rand($seed % 3 ? $size : 376));
+ open my $f, '+<', $file or die; binmode $f;
+ sub put { my ($at, $what) = @_; seek $f, $at, 0; print $f $what; }
+ if ($how == 0) { seek $f, $at, 0; read $f, my $c, 1; put($at, chr(ord($c) ^ 1 << rand 8)); }
+ elsif ($how == 1) { put($at, "\xff" x 8); }
+ elsif ($how == 2) { put($at & ~4095, "\0" x 4096); }
+ elsif ($how == 3) { truncate $f, $at; }
+ else { put($at & ~7, pack 'V*', map { int rand 1 << 32 } 1 .. 64); }
+ E
+ . ./run.sh; n=0; said=0; for seed in $(seq 30); do
+ 	fresh; set -- d/pugmark-code-*; shift $((seed % $#)); touch -r "$1" time; perl harm.pl $seed "$1"; touch -r time "$1"; cmp -s "$1" kept/"${1#d/}" && continue
+ 	check $seed "$1"; n=$((n + 1)); [ "$(grep -c . log)" = 1 ] && said=$((said + 1)); check $seed "$1" again; [ -s log ] && cat log
+ done; echo $((n > 20)) $((said > n - 4))
> 1 1
# What has the name of a file and is none does not stop anybody, nor what it leads to.
$ . ./run.sh; kinds() { ls -d kept/pugmark-* | awk -F- '!n[$2]++'; }; for what in fifo link device; do for f in $(kinds); do fresh; f=d/${f#kept/}; rm $f
+ 	case $what in fifo) mkfifo $f;; link) ln -s "$PWD/there" $f;; device) mknod $f c 1 5 2>/dev/null || mkfifo $f;; esac
+ 	check $what $f; sed 's/.*removed/removed/' log; check $what $f again; cat log; test -f $f || echo "$what $f: not made again"
+ done; done > all; n=$(kinds | grep -c .); echo $(($(grep -c . all) - 3 * n)); sort -u all; ls there 2>&1 | grep -c 'No such'
+ for f in $(kinds); do fresh; f=d/${f#kept/}; rm $f; mkdir $f; check directory $f; cat log; check directory $f; cat log; done
> 0
> removed from the cache: it is not a regular file
> 1
# Nor what others can write.
$ . ./run.sh; fresh; chmod 666 d/pugmark-code-*; check others; sed 's/.*removed/removed/' log | sort -u; check others again; cat log
> removed from the cache: others own it or can write to it
# The ledger says only what has been checked.
$ . ./run.sh; for n in 0 1 100 5000; do fresh; truncate -s $n d/pugmark-ledger; check ledger; cat log; done; fresh; perl -e 'srand 1; print pack "V*", map { int rand 1 << 32 } 1 .. 24576' > d/pugmark-ledger; check ledger; cat log
# A pugmark that dies of a fault takes what it used with it; one that is killed does not.
$ . ./run.sh; fresh; ASAN_OPTIONS=handle_segv=0 pugmark run -q --cache-dir "$PWD/d" -- sh -c 'kill -SEGV $PPID' 2> log; echo $?; sed "s/: a fault.*untraced/: ... untraced/" log; code() { ls $1 | grep -c code; }; echo $(($(code d) < $(code kept))); check after; cat log
+ fresh; pugmark run -q --cache-dir "$PWD/d" -- sh -c 'kill -KILL $PPID' 2> log; echo $(($(code d) < $(code kept)))
> 1
> pugmark: died of signal 11: ... untraced if it has not ended; the files of the cache that it used have been removed
> 1
> 0
# (3) of cache/file.h: nor is a controller stopped by what happens to a file while it is in use. The program may be: its code is there.
$ cat > change.pl <<'E'
+ my ($how, @file) = @ARGV; $| = 1;
+ for (@file) {
+ 	my $size = -s $_;
+ 	if ($how eq 'zero') { open my $f, '+<', $_ or die; print $f "\0" x $size; close $f; }
+ 	else { truncate $_, $how eq 'cut' ? 0 : $size / 2 or die; }
+ }
+ print pack('N', 7) eq "\0\0\0\7" ? "yes\n" : "no\n", ucfirst(lc 'ABC'), join(',', sort { $a <=> $b } 3, 1, 2), `echo more`;
+ E
+ one() { pugmark run -q --json j --cache-dir "$PWD/$1" -- perl change.pl $2 $3 2> log; }; for i in 1 2; do one p none > want; done; cp -a p perls
+ for how in cut half zero; do rm -rf p; cp -a perls p; chmod u+w p/*
+ 	for f in $(ls -S perls/pugmark-code-* | head -n 3); do one p $how p/${f#perls/} > got; case $? in 0) cmp want got;; 135|139|132) ;; *) echo "status $?"; cat log;; esac
+ 		grep -c 'fault of pugmark' log | grep -v 0; one p none | cmp - want; cat log; done
+ 	one p $how "p/pugmark-code-*" > got; one p none | cmp - want; done
