# POSIX shared memory: files of /dev/shm and of memfd_create() that several processes map, or one does several times.
# needs: gcc strace python3
# timeout: 200
$ cat > shm.c <<'end'
+ #define _GNU_SOURCE
+ #include <errno.h>
+ #include <fcntl.h>
+ #include <pthread.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ struct board { pthread_mutex_t lock; volatile int go; long turns, order, race; char text[64]; };
+ static struct board *map(int fd, int prot, off_t at) { return mmap(0, sizeof(struct board), prot, MAP_SHARED, fd, at); }
+ static int child(const char *name, int i)
+ {
+ 	int fd = shm_open(name, O_RDWR, 0);		/* not by inheritance */
+ 	struct board *b = map(fd, PROT_READ | PROT_WRITE, 0);
+ 	while (!b->go)
+ 		usleep(1000);
+ 	for (int k = 0; k < 200; k++) {
+ 		pthread_mutex_lock(&b->lock);
+ 		b->turns++;
+ 		b->order = b->order * 31 + i;
+ 		pthread_mutex_unlock(&b->lock);
+ 		b->race++;
+ 	}
+ 	munmap(b, sizeof *b);
+ 	return i;
+ }
+ int main(int argc, char **argv)
+ {
+ 	int status, sum = 0, fd, ro;
+ 	struct board *b, *second;
+ 	pthread_mutexattr_t shared;
+ 	char name[64];
+ 	setvbuf(stdout, 0, _IOLBF, 0);
+ 	if (argc > 1) {					/* executed: finds it by its name */
+ 		fd = shm_open(argv[1], O_RDWR, 0);
+ 		b = map(fd, PROT_READ | PROT_WRITE, 0);
+ 		printf("executed %ld\n", b->turns);
+ 		strcpy(b->text, "from there");
+ 		return 0;
+ 	}
+ 	snprintf(name, sizeof name, "/pugmark-test-%d", (int)getpid());
+ 	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
+ 	for (int i = 0; i < 3; i++)			/* forked before it is mapped */
+ 		if (!fork()) {
+ 			while (lseek(fd, 0, SEEK_END) < 4096)
+ 				usleep(1000);
+ 			return child(name, i);
+ 		}
+ 	b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (ftruncate(fd, 8192), fd), 0);
+ 	pthread_mutexattr_init(&shared);
+ 	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
+ 	pthread_mutex_init(&b->lock, &shared);
+ 	b->go = 1;
+ 	while (wait(&status) > 0)
+ 		sum += WEXITSTATUS(status);
+ 	printf("%ld %lx %ld, %d\n", b->turns, b->order, b->race, sum);
+ 	fflush(stdout);
+ 	if (!fork())
+ 		execl(argv[0], argv[0], name, NULL);
+ 	wait(0);
+ 	printf("%s\n", b->text);
+ 	ro = shm_open(name, O_RDONLY, 0);
+ 	second = map(ro, PROT_READ, 0);
+ 	strcpy(b->text, "twice");
+ 	printf("%s %d\n", second->text, second != b);
+ 	printf("%d\n", mprotect(second, 4096, PROT_READ | PROT_WRITE) ? errno : 0);
+ 	pwrite(fd, "12345678", 8, 4092);
+ 	second = mremap(second, 4096, 8192, MREMAP_MAYMOVE);
+ 	printf("%.8s\n", (char *)second + 4092);
+ 	munmap(second, 4096);
+ 	strcpy((char *)b + 4000, "the first page");
+ 	printf("%.4s\n", (char *)second + 4096);
+ 	ftruncate(fd, 1 << 20);
+ 	second = map(fd, PROT_READ | PROT_WRITE, 1 << 19);
+ 	printf("%ld\n", second->turns = 5);
+ 	madvise(second, 4096, MADV_REMOVE);
+ 	printf("%ld\n", second->turns);
+ 	shm_unlink(name);
+ 	status = shm_open(name, O_RDWR, 0);
+ 	printf("%d %s\n", status, strerror(errno));
+ 	printf("%s\n", (char *)b + 4000);
+ 	return 3;
+ }
+ end
$ gcc -w -O1 -pthread -o shm shm.c; for i in 1 2 3; do "$TESTS/record/again" "$PWD/shm"; done
> status 3, 11 lines again
> status 3, 11 lines again
> status 3, 11 lines again
$ for seed in 1 2 3; do pugmark record -q --chaos $seed -o r.pugrec -- ./shm > want; pugmark replay -q r.pugrec | cmp - want; done; tail -n +2 want
> executed 600
> from there
> twice 1
> 13
> 12345678
> 5678
> 5
> 0
> -1 No such file or directory
> the first page
# A replay has memory of its own, and makes no file.
$ ASAN_OPTIONS=detect_leaks=0 strace -f -o calls -e trace=open,openat,unlink,memfd_create pugmark replay -q --no-output r.pugrec; grep -c '/dev/shm' calls
> 0
? 1
# One memory at two addresses: as data and as code, and as a ring.
$ cat > twice.c <<'end'
+ #define _GNU_SOURCE
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	int fd = memfd_create("code", 0), ring = memfd_create("ring", 0);
+ 	static const unsigned char code[] = { 0x8d, 0x04, 0x7f, 0xc3 };		/* lea (%rdi,%rdi,2), %eax; ret */
+ 	ftruncate(fd, 4096);
+ 	ftruncate(ring, 4096);
+ 	unsigned char *w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
+ 	int (*f)(int) = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
+ 	memcpy(w, code, sizeof code);
+ 	printf("%d\n", f(getpid()) == 3 * getpid());
+ 	w[2] = 0xbf;					/* lea (%rdi,%rdi,4) */
+ 	printf("%d\n", f(getpid()) == 5 * getpid());
+ 	char *r = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	mmap(r, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ring, 0);
+ 	mmap(r + 4096, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ring, 0);
+ 	strcpy(r + 4090, "over the end");
+ 	printf("%s\n", r);
+ 	for (int i = 0; i < 2; i++) {			/* a copy of what is there now */
+ 		r[1] = 'a' + i;
+ 		printf("%.5s\n", (char *)mmap(0, 4096, PROT_READ, MAP_PRIVATE, ring, 0));
+ 	}
+ 	return 0;
+ }
+ end
$ gcc -w -o twice.in twice.c && ./twice.in && "$TESTS/record/again" -k ./twice.in; for j in 1 2; do pugmark convert -q -j $j r.pugrec $j.pug; pugmark dump $j.pug | grep -v ' time ' | md5sum; done | uniq | wc -l
> 1
> 1
> he end
> ha en
> hb en
> status 0, 5 lines again
> 1
$ pugmark record --check -o r.pugrec -- ./twice.in 2>&1 | tail -n 1 | sed 's/.*; //'
> 0 holes in the table
# Python's, with a worker that is executed.
$ cat > shared.py <<'end'
+ import multiprocessing as mp
+ from multiprocessing import shared_memory
+ def work(name, i, lock):
+     m = shared_memory.SharedMemory(name=name)
+     for k in range(50):
+         with lock:
+             m.buf[0] = (m.buf[0] * 3 + i) % 251
+             m.buf[1] += 1
+     m.close()
+ if __name__ == '__main__':
+     mp.set_start_method('spawn')
+     m, lock = shared_memory.SharedMemory(create=True, size=100000), mp.Lock()
+     all = [mp.Process(target=work, args=(m.name, i, lock)) for i in range(3)]
+     [p.start() for p in all]
+     [p.join() for p in all]
+     print(m.buf[0], m.buf[1])
+     m.close(); m.unlink()
+ end
$ pugmark record -q -o p.pugrec -- python3 shared.py > want; pugmark replay -q p.pugrec | cmp - want && cut -d' ' -f2 want
> 150
# What was there before is there; what cannot be recorded is one sentence.
$ cat > most.c <<'end'
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(int argc, char **argv)
+ {
+ 	int fd = shm_open(argv[1], O_RDWR, 0);
+ 	unsigned long first = strtoul(argv[2], 0, 0), then = argc > 3 ? strtoul(argv[3], 0, 0) : 0;
+ 	if (lseek(fd, 0, SEEK_END) < first)
+ 		ftruncate(fd, first);
+ 	char *p = mmap(0, first, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
+ 	printf("%.5s\n", p);
+ 	fflush(stdout);
+ 	if (then && !ftruncate(fd, then))
+ 		mmap(0, then, PROT_READ, MAP_SHARED, fd, 0);
+ 	return 0;
+ }
+ end
$ gcc -w -o most most.c; n=pugmark-test-$$; for how in 4096 '4096 60000000' '4096 100000000' 1100000000; do echo hello > /dev/shm/$n; pugmark record -o r.pugrec -- ./most /$n $how 2>&1 | sed 's/process [0-9]*/process N/'; rm /dev/shm/$n; pugmark replay -q r.pugrec; done
> hello
> hello
> hello
> hello
> hello
> pugmark: the recording ends here: process N maps POSIX shared memory that has grown since it was mapped first
> hello
> pugmark: the recording ends here: process N maps POSIX shared memory of more than 1 GiB
> hello
! pugmark: the recording ends here: the program maps POSIX shared memory that has grown since it was mapped first
! pugmark: the recording ends here: the program maps POSIX shared memory of more than 1 GiB
