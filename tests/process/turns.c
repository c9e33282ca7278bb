/* SPDX-License-Identifier: MIT */
/* turns.c - threads that take turns: in each, one stores to the next place of an array */
#include <pthread.h>
#include <unistd.h>
enum { N = 4, TURNS = 400 };
static int pipes[N][2];
long log[TURNS];
static void *run(void *arg)
{
	long k = (long)arg;
	for (int n; read(pipes[k][0], &n, sizeof n) == sizeof n; ) {
		if (n < TURNS)
			log[n] = k + 1;
		n++;
		write(pipes[(k + 1) % N][1], &n, sizeof n);
		if (n > TURNS)
			break;
	}
	return NULL;
}
int main(void)
{
	pthread_t t[N];
	for (long k = 0; k < N; k++)
		pipe(pipes[k]);
	for (long k = 0; k < N; k++)
		pthread_create(&t[k], NULL, run, (void *)k);
	write(pipes[0][1], &(int){ 0 }, sizeof(int));
	for (int k = 0; k < N; k++)
		pthread_join(t[k], NULL);
	return 0;
}
