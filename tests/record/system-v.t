# Shared memory of System V is recorded, and a replay has it without touching the machine's.
# needs: gcc strace ipcrm
# timeout: 200
$ cat > seg.c <<'end'
+ #define _GNU_SOURCE
+ #include <errno.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/ipc.h>
+ #include <sys/sem.h>
+ #include <sys/shm.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static void stat_of(const char *what, int id)
+ {
+ 	struct shmid_ds d;
+ 	if (shmctl(id, IPC_STAT, &d)) { printf("%s: %s\n", what, strerror(errno)); return; }
+ 	printf("%s: %zu bytes, %lu attached, mode %o, by %d\n", what, d.shm_segsz, d.shm_nattch, d.shm_perm.mode, d.shm_cpid == getpid());
+ }
+ static int child(int id, int i, int sem)
+ {
+ 	struct sembuf down = { 0, -1, 0 }, up = { 0, 1, 0 };
+ 	long *own = shmat(id, 0, 0);			/* not by inheritance */
+ 	for (int k = 0; k < 200; k++) {
+ 		semop(sem, &down, 1);
+ 		own[0]++;
+ 		own[1] = own[1] * 31 + i;
+ 		semop(sem, &up, 1);
+ 		own[2]++;				/* a race */
+ 	}
+ 	shmdt(own);
+ 	return i;
+ }
+ int main(int argc, char **argv)
+ {
+ 	setvbuf(stdout, 0, _IOLBF, 0);
+ 	int id, other, status, sum = 0, sem = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
+ 	unsigned short all[2] = { 1, 7 };
+ 	volatile long *p, *q;
+ 	char *at, text[32];
+ 	if (argc > 2) {					/* executed: finds it by its key */
+ 		id = shmget(atoi(argv[1]), 0, 0);
+ 		p = shmat(id, 0, 0);
+ 		p[3] = p[0] + 5;
+ 		printf("executed %ld %ld\n", p[0], p[3]);
+ 		return 0;
+ 	}
+ 	semctl(sem, 0, SETALL, all);
+ 	memset(all, 0, sizeof all);
+ 	semctl(sem, 0, GETALL, all);
+ 	printf("semaphores %d %d\n", all[0], all[1]);
+ 	id = shmget(getpid(), 10000, IPC_CREAT | IPC_EXCL | 0600);
+ 	stat_of("new", id);
+ 	at = mmap(0, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	p = shmat(id, at, SHM_REMAP);
+ 	printf("remapped %d\n", (char *)p == at);
+ 	for (int i = 0; i < 3; i++)
+ 		if (!fork())
+ 			return child(id, i, sem);
+ 	while (wait(&status) > 0)
+ 		sum += WEXITSTATUS(status);
+ 	printf("%ld %lx %ld, %d\n", p[0], p[1], p[2], sum);
+ 	stat_of("attached", id);
+ 	fflush(stdout);
+ 	snprintf(text, sizeof text, "%d", (int)getpid());
+ 	if (!fork())
+ 		execl(argv[0], argv[0], text, "x", NULL);
+ 	wait(0);
+ 	printf("from there %ld\n", p[3]);
+ 	q = shmat(id, 0, SHM_RDONLY);
+ 	p[4] = 44;
+ 	printf("twice %ld, %d\n", q[4], (void *)q != (void *)p);
+ 	stat_of("twice", id);
+ 	shmdt((void *)p);
+ 	shmdt((void *)q);
+ 	status = shmdt((void *)q);
+ 	printf("%d %s\n", status, strerror(errno));
+ 	stat_of("detached", id);
+ 	q = shmat(id, 0, SHM_RDONLY);			/* what was there is there */
+ 	printf("again %ld\n", q[4]);
+ 	/* where another thing is mapped over a part of it, that goes alone */
+ 	p = shmat(id, at, SHM_REMAP);
+ 	printf("%d\n", mmap(at + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + 4096);
+ 	stat_of("holed", id);
+ 	shmctl(id, IPC_RMID, 0);
+ 	stat_of("removed", id);
+ 	shmdt((void *)q);
+ 	shmdt(at);
+ 	printf("hole %d\n", at[4096]);
+ 	stat_of("gone", id);
+ 	other = shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600);
+ 	p = shmat(other, 0, 0);
+ 	printf("fresh %ld %d\n", p[4], id != other);
+ 	shmctl(other, IPC_RMID, 0);
+ 	shmat(12345678, 0, 0);
+ 	printf("%s\n", strerror(errno));
+ 	semctl(sem, 0, IPC_RMID);
+ 	return 3;
+ }
+ end
$ gcc -w -O1 -o seg seg.c; for i in 1 2 3; do "$TESTS/record/again" "$PWD/seg"; done
> status 3, 19 lines again
> status 3, 19 lines again
> status 3, 19 lines again
$ for seed in 1 2 3; do pugmark record -q --chaos $seed -o r.pugrec -- ./seg > want; pugmark replay -q r.pugrec | cmp - want; done; head -2 want
> semaphores 1 7
> new: 10000 bytes, 0 attached, mode 600, by 1
# A replay confines itself: it may not ask the kernel for such memory at all.
$ ASAN_OPTIONS=detect_leaks=0 strace -f -o calls -e trace=shmget,shmat,shmctl,shmdt,semop,semctl,mremap pugmark replay -q r.pugrec | tail -1; grep -c '[hs][em]m*[gacdo][a-z]*(' calls; grep -q 'mremap(' calls && echo mapped
> Invalid argument
> 0
> mapped
# What a process that is not recorded has made, or has attached, it may write at any time.
$ cat > outside.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/shm.h>
+ #include <unistd.h>
+ int main(int argc, char **argv)
+ {
+ 	int id = shmget(atoi(argv[1]), 4096, argc > 2 ? IPC_CREAT | 0600 : 0);
+ 	volatile int *p = shmat(id, 0, 0);
+ 	if (id < 0 || p == (void *)-1)
+ 		return 1;
+ 	printf("attached\n");
+ 	fflush(stdout);
+ 	for (int i = 0; !p[0] && i < 30; i++)
+ 		usleep(100000);
+ 	p[0] = 1;
+ 	if (argc > 2)
+ 		shmctl(id, IPC_RMID, 0);
+ 	return 0;
+ }
+ end
$ gcc -w -o outside outside.c; k=$$; ./outside $k make > o & while [ ! -s o ]; do sleep 0.1; done; pugmark record -o r.pugrec -- ./outside $k 2>&1 | sed 's/process [0-9]*/process N/'; wait; pugmark replay -q r.pugrec
> pugmark: the recording ends here: process N shares memory of System V with a process that is not recorded
> attached
! pugmark: the recording ends here: the program shares memory of System V with a process that is not recorded
$ k=$$; rm o; pugmark record -o r.pugrec -- ./outside $k make > o 2> err & while [ ! -s o ]; do sleep 0.1; done; ./outside $k > /dev/null & sleep 1; ipcrm -M $k; wait; sed 's/process [0-9]*/process N/' err; pugmark replay -q r.pugrec > o 2> err; cat o err
> pugmark: the recording ends here: process N shares memory of System V with a process that is not recorded
> attached
> pugmark: the recording ends here: the program shares memory of System V with a process that is not recorded
# One that is larger than what a replay has room for.
$ cat > large.c <<'end'
+ #include <stdio.h>
+ #include <sys/shm.h>
+ int main(void)
+ {
+ 	int id = shmget(IPC_PRIVATE, (1ul << 30) + 1, IPC_CREAT | SHM_NORESERVE | 0600);
+ 	void *p = shmat(id, 0, 0);
+ 	shmctl(id, IPC_RMID, 0);
+ 	return printf("%d\n", p == (void *)-1) != 2;
+ }
+ end
$ gcc -w -o large large.c && pugmark record -o r.pugrec -- ./large 2>&1 | sed 's/process [0-9]*/process N/'
> pugmark: the recording ends here: process N attaches shared memory of System V of more than 1 GiB
> 0
