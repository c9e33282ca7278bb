# A profile with edges (run --bolt, --lcov and the like): programs do what they do natively, also from the cache.
# timeout: 300
$ for p in bare cuts dispatch dl exceptions exits far flags forks jumps loops medley odd pending persona segv signals smc threads threads-static timer vector; do "$PROGRAMS/$p" >want 2>want.err </dev/null; a=$?; for k in 1 2; do pugmark run -q --drcov cov -- "$PROGRAMS/$p" >got 2>got.err </dev/null; b=$?; [ $a = $b ] && cmp want got && [ -s cov ] || echo "$p: $a $b $(tail -n 1 got.err)"; done; done
# The edges of a branch are all of its executions, and the other threads' and children's are in it, too.
$ cat >both.c <<'X'
+ #include <pthread.h>
+ #include <stdlib.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static volatile unsigned odd, even;
+ __attribute__((noinline)) static void work(unsigned n)
+ {
+ 	for (unsigned i = 0; i < n; i++)
+ 		if (i & 1)
+ 			odd++;
+ 		else
+ 			even++;
+ }
+ static void *thread(void *arg) { work(1000); return arg; }
+ int main(void)
+ {
+ 	pthread_t t[3];
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_create(&t[i], NULL, thread, NULL);
+ 	if (!fork()) {
+ 		work(20000);
+ 		_exit(0);
+ 	}
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_join(t[i], NULL);
+ 	wait(NULL);
+ 	return 0;
+ }
+ X
+ gcc -O0 -g -o both both.c -lpthread; for k in 1 2; do pugmark run -q --lcov both.info -- ./both; grep -E '^(DA:(9|10|12),|BRDA:9,)' both.info; done
> BRDA:9,0,0,11500
> BRDA:9,0,1,11500
> DA:9,23000
> DA:10,11500
> DA:12,11500
> BRDA:9,0,0,11500
> BRDA:9,0,1,11500
> DA:9,23000
> DA:10,11500
> DA:12,11500
# A branch trace says the same.
$ pugmark run -q --branch --lcov traced.info -- ./both; cmp traced.info both.info
# Reports of a profile can be had beside: of the same counters, and so the same as without.
$ pugmark run -q --csv plain.csv -- gzip -9c both.c >z; pugmark run --bolt b.pa --lcov b.info --csv with.csv -o report --json j.json -- gzip -9c both.c >z 2>e; for f in plain with; do sort $f.csv > $f.sorted; done; cmp plain.sorted with.sorted; [ -s b.pa ] && grep -c '^  instructions ' report; jq -r .schema.name j.json
> 1
> pugmark.profile
