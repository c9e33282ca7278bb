# Files that are mapped so that what is written there is shared: the log has what they begin with, and what calls write to them.
# needs: sqlite3
$ cat > s.c <<'end'
+ #define _GNU_SOURCE
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/uio.h>
+ #include <unistd.h>
+ static unsigned sum(const char *p, unsigned n) { unsigned s = 0; while (n--) s = s * 31 + (unsigned char)*p++; return s; }
+ int main(void)
+ {
+ 	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0600), in = open("g", O_RDWR | O_CREAT, 0600);
+ 	char buf[64];
+ 	ftruncate(fd, 3 * 4096 + 100);
+ 	pwrite(fd, "before", 6, 5000);
+ 	char *w = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
+ 	char *r = mmap(0, 2 * 4096, PROT_READ, MAP_SHARED, fd, 2 * 4096);
+ 	printf("%.6s\n", w + 5000);
+ 	memcpy(w + 8190, "xy", 2);
+ 	pread(fd, buf, 2, 8190);
+ 	printf("%.2s\n", buf);
+ 	pwrite(fd, "12345678", 8, 8188);			/* in both mappings */
+ 	printf("%.4s %.4s\n", w + 8188, r);
+ 	lseek(fd, 9000, SEEK_SET);
+ 	write(fd, "written", 7);
+ 	writev(fd, (struct iovec[2]){ { "one", 3 }, { "two", 3 } }, 2);
+ 	printf("%.13s\n", r + 9000 - 8192);
+ 	write(in, "copied", 6);
+ 	copy_file_range(in, &(off_t){ 0 }, fd, &(off_t){ 100 }, 6, 0);
+ 	printf("%.6s\n", w + 100);
+ 	ftruncate(fd, 9005);
+ 	printf("%.5s|%d %d\n", r + 9000 - 8192, r[9005 - 8192], r[9006 - 8192]);
+ 	pwrite(open("f", O_WRONLY | O_APPEND), "end", 3, 0);	/* not at 0: O_APPEND */
+ 	printf("%.3s\n", r + 9005 - 8192);
+ 	srandom(getpid());
+ 	for (int i = 0; i < 8192; i++)
+ 		w[i] ^= (char)random();
+ 	madvise(w, 8192, MADV_DONTNEED);
+ 	printf("%u %u\n", sum(w, 8192), sum(r, 4096));
+ 	munmap(w, 8192);
+ 	w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
+ 	w = mremap(w, 4096, 8192, MREMAP_MAYMOVE);	/* over what r has: this is not seen */
+ 	printf("%u\n", sum(w, 8192));
+ 	return 0;
+ }
+ end
$ gcc -w -o s.in s.c && ./s.in | head -n 7 && "$TESTS/record/again" ./s.in
> before
> xy
> 1234 5678
> writtenonetwo
> copied
> writt|0 0
> end
> status 0, 9 lines again
# What sqlite3 shares with other processes is in a file of shared memory.
$ "$TESTS/record/again" sqlite3 t.db 'pragma journal_mode=wal; create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c limit 5000) insert into t select x * (random() % 1000000) from c; pragma mmap_size=1000000; select count(*), sum(a) from t; update t set a = 1 where rowid % 3 = 0; select sum(a) from t;'
> status 0, 4 lines again
# A file that is mapped twice so would be one memory: that is said.
$ cat > twice.c <<'end'
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(void) { int fd = open("f", O_RDWR | O_CREAT, 0600); ftruncate(fd, 4096); puts("begin"); fflush(stdout); char *a = mmap(0, 4096, 3, MAP_SHARED, fd, 0), *b = mmap(0, 4096, 1, MAP_SHARED, fd, 0); *a = 7; printf("%d\n", *b); return 0; }
+ end
$ gcc -w -o twice twice.c && pugmark record -o r.pugrec -- ./twice 2>&1 | sed 's/process [0-9]*/process N/'; pugmark replay -q r.pugrec
> begin
> pugmark: the recording ends here: process N maps a device, or a file that is mapped already, to share what it writes there
> 7
> begin
! pugmark: the recording ends here: the program maps a device, or a file that is mapped already, to share what it writes there
# Memory that is shared, and a child that only executes another program.
$ cat > spawn.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(void) { int *p = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); *p = getpid(); system("echo hello"); printf("%d\n", *p); return 0; }
+ end
$ gcc -w -o spawn.in spawn.c && "$TESTS/record/again" ./spawn.in
> status 0, 2 lines again
