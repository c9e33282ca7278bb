/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/result.h"
#include "sweep/sweep_state.h"

#define LATELY	120			/* seconds that the rate looks back */
#define CAUSES	100			/* different ones that are told apart */

/* ---- failures ------------------------------------------------------------------------------- */

static void add_cause(struct sweep_state *s, const char *cause, const char *message)
{
	char text[300];

	/* the same whatever the place in the file is */
	snprintf(text, sizeof text, "%s: %s", cause, message);
	for (size_t i = 0; i < s->ncause; i++)
		if (!strcmp(s->cause[i].text, text) || i == CAUSES) {
			s->cause[i].n++;
			return;
		}
	pm_grow(s->cause, s->ncause, s->cap_cause);
	s->cause[s->ncause++] = (struct sweep_cause){
		pm_strdup(s->ncause == CAUSES ? "others" : text), 1
	};
}

static void add_failure(struct sweep_state *s, const struct pm_result_node *failure)
{
	const char *cause = pm_result_find_text(failure, "cause");
	const char *message = pm_result_find_text(failure, "message");

	add_cause(s, cause ? cause : "?", message ? message : "");
}

static int by_count(const void *a, const void *b)
{
	const struct sweep_cause *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* ---- the pace ------------------------------------------------------------------------------- */

struct pace { double recent; time_t now, first; double insn_jobs; };

static void add_log(struct sweep_state *s, struct pace *to, FILE *f)
{
	char line[512];

	while (fgets(line, sizeof line, f)) {
		long long end;
		double took;
		uint64_t computed, failed, insns;

		if (sscanf(line, "gang %lld %lf %" SCNu64 " %" SCNu64 " %" SCNu64, &end, &took,
			   &computed, &failed, &insns) != 5)
			continue;
		s->gangs++;
		s->computed += computed;
		s->gave_up += failed;
		s->cpu += took;
		if (!computed)
			continue;
		to->insn_jobs += (double)insns * (double)computed;
		if (!to->first || end - (long long)took < to->first)
			to->first = (time_t)(end - (long long)took);
		if (end > to->now - LATELY)
			to->recent += (double)(computed + failed);
	}
}

void sweep_state_pace(struct sweep_state *s, const struct sweep_dir *d)
{
	int fd = openat(d->fd, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct pace pace = { .now = time(NULL) };
	struct dirent *e;
	double window;

	while (dir && (e = readdir(dir))) {
		int log = *e->d_name == '.' ? -1 :
			openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		FILE *f = log < 0 ? NULL : fdopen(log, "r");

		if (f) {
			add_log(s, &pace, f);
			fclose(f);
		}
	}
	if (dir)
		closedir(dir);
	window = (double)(pace.now - pace.first);
	if (window > LATELY)
		window = LATELY;
	s->rate = pace.recent / (window > 1 ? window : 1);
	s->per_job = s->computed ? s->cpu / (double)s->computed : 0;
	s->per_insn = pace.insn_jobs > 0 ? s->cpu / pace.insn_jobs : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool somebody_works(const struct sweep_dir *d)
{
	int fd = openat(d->fd, "lock", O_RDWR | O_CLOEXEC);
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool is = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return is;
}

enum pm_status sweep_state_read(struct sweep_state *s, const struct sweep_dir *d,
				const struct sweep_plan *p, const struct sweep_trace_ids *ids,
				void (*seen)(void *arg, uint64_t n), void *arg, struct pm_err *err)
{
	struct pm_buf spec = { 0 }, canonical = { 0 };
	enum pm_status st = PM_OK;
	char key[SWEEP_KEY + 1];

	*s = (struct sweep_state){ .jobs = p->njob, .npart = p->ntrace };
	s->part = pm_alloc(p->ntrace * sizeof *s->part);
	for (uint64_t i = 0; i < p->njob && !st; i++) {
		struct sweep_job j = sweep_plan_job(p, i);
		struct sweep_part *part = s->part + j.trace;
		const struct pm_result_node *failure;
		struct pm_result *r;

		if (seen && i % 256 == 0)
			seen(arg, i);
		sweep_plan_spec(p, j.config, &spec);
		st = sweep_key(ids->id + j.trace, p->region + j.region, (const char *)spec.p,
			       &canonical, key, err);
		part->jobs++;
		r = st ? NULL : sweep_result_read(d, key);
		if (!r)
			continue;
		failure = pm_result_find(pm_result_root(r), "failure");
		if (failure) {
			add_failure(s, failure);
			s->failed++;
			part->failed++;
		} else {
			s->done++;
			part->done++;
		}
		pm_result_free(r);
	}
	if (s->ncause)
		qsort(s->cause, s->ncause, sizeof *s->cause, by_count);
	sweep_state_pace(s, d);
	s->working = somebody_works(d);
	if (s->rate > 0)
		s->seconds = (double)(s->jobs - s->done - s->failed) / s->rate;
	pm_buf_release(&spec);
	pm_buf_release(&canonical);
	return st;
}

void sweep_state_release(struct sweep_state *s)
{
	for (size_t i = 0; i < s->ncause; i++)
		free(s->cause[i].text);
	free(s->cause);
	free(s->part);
	*s = (struct sweep_state){ 0 };
}
