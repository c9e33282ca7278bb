/* SPDX-License-Identifier: MIT */
/* slurm.c - batches of gangs as tasks of Slurm job arrays
 *
 * An array computes what has no result when it is submitted. When it is over, whatever became of
 * its tasks, the next one computes what is missing then. A launcher that was killed left its array
 * running: the next launcher waits for that first.
 *
 * How long a batch takes is guessed from what gangs took so far. While nothing is known, a batch is
 * a gang. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/result.h"
#include "base/temp.h"
#include "sweep/sweep_launch.h"
#include "sweep/sweep_state.h"

#define TASKS	1000			/* of an array, if the cluster does not say */
#define PROBES	200			/* gangs of the first array, if nothing is known */
#define IN_VAIN	3			/* arrays in a row that bring nothing */

struct slurm {
	struct sweep_launch *l;
	const struct sweep_slurm *o;
	char *dir;			/* absolute */
	char id[64];			/* of this array's files: "slurm/ID.sh" */
	unsigned narray;		/* this launcher's, so far */
	struct sweep_gang *gang;	/* missing */
	uint64_t *njob;			/* of each, missing */
	size_t n, cap, cap_njob;
	uint64_t missing;
	uint64_t forgotten;		/* failures of this launcher's arrays that are tried
					 * again */
	struct pm_err *err;
	time_t began;
};

/* ---- commands of Slurm ---------------------------------------------------------------------- */

/* What @command prints, terminated, into empty @to; its status, -1: it could not be run. */
static int ask(const char *command, struct pm_buf *to)
{
	FILE *f = popen(command, "re");
	char part[4096];
	size_t n;
	int status;

	while (f && (n = fread(part, 1, sizeof part, f)))
		pm_buf_add(to, part, n);
	status = f ? pclose(f) : -1;
	pm_buf_add(to, "", 1);
	return status == -1 || status & 0x7f ? -1 : status >> 8;
}

static uint64_t most_tasks(void)
{
	struct pm_buf b = { 0 };
	uint64_t n = TASKS;
	char *p;

	if (!ask("scontrol show config 2>/dev/null", &b)) {
		p = strstr((char *)b.p, "MaxArraySize");
		p = p ? strchr(p, '=') : NULL;
		if (p && strtoull(p + 1, NULL, 10) > 1)
			n = strtoull(p + 1, NULL, 10) - 1;
	}
	pm_buf_release(&b);
	return n;
}

/* For the shell, inside of '...'. */
static void put_quoted(struct pm_buf *to, const char *s)
{
	pm_buf_add(to, "'", 1);
	for (; *s; s++)
		if (*s == '\'')
			pm_buf_printf(to, "'\\''");
		else
			pm_buf_add(to, s, 1);
	pm_buf_add(to, "'", 1);
}

/* ---- what is missing ------------------------------------------------------------------------ */

static void list_missing(struct slurm *x, bool first)
{
	struct sweep_gang g = { 0 };

	uint64_t there_failed = 0;

	x->n = 0;
	x->missing = 0;
	while (sweep_next_gang(x->l, &g)) {
		uint64_t n = sweep_gang_missing(x->l->d, x->l->p, x->l->ids, &g, x->l->retry,
						&there_failed);

		if (!n)
			continue;
		pm_grow(x->gang, x->n, x->cap);
		pm_grow(x->njob, x->n, x->cap_njob);
		x->njob[x->n] = n;
		x->gang[x->n++] = g;
		x->missing += n;
	}
	if (first)
		x->l->progress.there_failed = there_failed;
}

/* Seconds that gang @i will take, by what others took. */
static double guess(const struct slurm *x, size_t i, const struct sweep_state *pace)
{
	const struct sweep_region *r = x->l->p->region + x->gang[i].region;
	double insns = (double)x->l->ids->id[x->gang[i].trace].insns;

	if (!pace->per_insn || !insns)
		return pace->per_job * (double)x->njob[i];
	if ((double)r->to < insns)
		insns = (double)r->to;
	insns -= (double)r->from < insns ? (double)r->from : insns;
	return pace->per_insn * insns * (double)x->njob[i];
}

static enum pm_status save(struct slurm *x, const char *suffix, const struct pm_buf *b,
			   char **path)
{
	struct pm_beside f;
	char name[100];
	bool done;

	snprintf(name, sizeof name, "slurm/%s.%s", x->id, suffix);
	*path = sweep_dir_file(&(struct sweep_dir){ .path = x->dir }, name);
	x->err->file = x->l->d->path;
	if (!pm_beside_open(&f, *path))
		return pm_fail_errno(x->err, "cannot create %s", name);
	done = pm_temp_write(f.fd, b->p, b->n, 0, x->err) == PM_OK &&
	       pm_beside_place(&f, f.fd, *path);
	if (!done && !pm_failed(x->err))
		pm_fail_errno(x->err, "cannot write %s", name);
	close(f.fd);
	pm_beside_release(&f);
	return done ? PM_OK : PM_ERR;
}

/* A line for each batch: gangs as TRACE REGION FROM TO. Returns how many batches there are. */
static uint64_t make_batches(const struct slurm *x, struct pm_buf *to)
{
	struct sweep_state pace = { 0 };
	uint64_t most = x->o->print ? TASKS : most_tasks(), batches = 0;
	double seconds = x->o->seconds, all = 0, sum = 0;
	size_t n = x->n;

	sweep_state_pace(&pace, x->l->d);
	if (!pace.per_job && n > PROBES)
		n = PROBES;		/* the next array knows more */
	for (size_t i = 0; i < n; i++)
		all += guess(x, i, &pace);
	if (all / (double)most > seconds)
		seconds = all / (double)most * 1.01;
	for (size_t i = 0; i < n; i++) {
		double s = guess(x, i, &pace);
		bool fresh = !i || (batches < most && (!pace.per_job || sum + s > seconds));

		if (fresh) {
			pm_buf_printf(to, "%s", i ? "\n" : "");
			batches++;
			sum = 0;
		} else {
			pm_buf_printf(to, "; ");
		}
		sum += s;
		pm_buf_printf(to, "%zu %zu %" PRIu64 " %" PRIu64, x->gang[i].trace,
			      x->gang[i].region, x->gang[i].from, x->gang[i].to);
	}
	pm_buf_printf(to, "\n");
	return batches;
}

static void make_script(const struct slurm *x, uint64_t batches, const char *file,
			struct pm_buf *to)
{
	const struct sweep_slurm *o = x->o;
	const uint64_t mb = x->l->mem >> 20;

	pm_buf_printf(to, "#!/bin/sh\n#SBATCH --job-name=pugmark-sweep\n"
		      "#SBATCH --array=0-%" PRIu64, batches - 1);
	if (o->throttle)
		pm_buf_printf(to, "%%%u", o->throttle);
	pm_buf_printf(to, "\n#SBATCH --cpus-per-task=%u\n#SBATCH --output=%s/slurm/%s-%%a.out\n",
		      o->cpus, x->dir, x->id);
	if (o->partition)
		pm_buf_printf(to, "#SBATCH --partition=%s\n", o->partition);
	if (o->account)
		pm_buf_printf(to, "#SBATCH --account=%s\n", o->account);
	if (o->time)
		pm_buf_printf(to, "#SBATCH --time=%s\n", o->time);
	if (mb)				/* each gang's, and something for those that start them */
		pm_buf_printf(to, "#SBATCH --mem=%" PRIu64 "M\n", mb * o->cpus + 64);
	pm_buf_printf(to, "exec ");
	put_quoted(to, o->program);
	pm_buf_printf(to, " sweep run --quiet --jobs %u --batch ", o->cpus);
	put_quoted(to, file);
	pm_buf_printf(to, ":\"$SLURM_ARRAY_TASK_ID\"");
	if (mb)
		pm_buf_printf(to, " --mem %" PRIu64 "m --mem-most %" PRIu64 "m", mb, mb);
	if (x->l->retry)
		pm_buf_printf(to, " --retry");
	if (x->l->stage)		/* "$SLURM_TMPDIR" is the node's to say */
		pm_buf_printf(to, " --stage \"%s\"", x->l->stage);
	pm_buf_printf(to, " ");
	put_quoted(to, x->dir);
	pm_buf_printf(to, "\n");
}

enum pm_status sweep_batch_read(const char *path, uint64_t line, const struct sweep_plan *p,
				struct sweep_gang **g, size_t *n, struct pm_err *err)
{
	struct pm_buf text = { 0 };
	char *at, *one = NULL, *gang;
	size_t cap = 0;

	*g = NULL;
	*n = 0;
	if (pm_json_load(path, &text, err) != PM_OK) {
		pm_buf_release(&text);
		return PM_ERR;
	}
	at = (char *)text.p;
	for (uint64_t i = 0; i <= line && at; i++)
		one = strsep(&at, "\n");
	if (!at || !*one)
		pm_fail_line(err, line + 1, "no such batch");
	while (!pm_failed(err) && (gang = strsep(&one, ";"))) {
		struct sweep_gang v;

		if (sscanf(gang, " %zu %zu %" SCNu64 " %" SCNu64, &v.trace, &v.region, &v.from,
			   &v.to) != 4 || v.trace >= p->ntrace || v.region >= p->nregion ||
		    v.from >= v.to || v.to > p->nconfig) {
			pm_fail_line(err, line + 1, "expected gangs of the plan, TRACE REGION FROM "
				     "TO, found '%.60s'", gang);
			break;
		}
		pm_grow(*g, *n, cap);
		(*g)[(*n)++] = v;
	}
	pm_buf_release(&text);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static bool stopped(const struct slurm *x)
{
	return x->l->stop && *x->l->stop;
}

/* Are tasks of job @job waiting or running? Slurm's controller may be away for a while. */
static bool is_active(const struct slurm *x, const char *job, bool *known)
{
	struct pm_buf b = { 0 };
	char command[160];
	int status;
	bool active;

	snprintf(command, sizeof command, "squeue -h -o %%t -j %.40s 2>&1", job);
	status = ask(command, &b);
	*known = !status || strstr((char *)b.p, "Invalid job id");
	active = !status && b.n > 1;
	pm_buf_release(&b);
	return active || !*known;
}

static void wait_for(struct slurm *x, const char *job)
{
	char command[80];
	bool known;

	for (unsigned i = 0; !stopped(x) && is_active(x, job, &known); i++) {
		struct sweep_state pace = { 0 };

		sweep_state_pace(&pace, x->l->d);
		x->l->progress.computed = pace.computed;
		x->l->progress.seconds = (double)(time(NULL) - x->began);
		if (x->l->tell)
			x->l->tell(x->l->arg, &x->l->progress);
		poll(NULL, 0, i < 20 ? 500 : 5000);
	}
	if (stopped(x)) {
		struct pm_buf b = { 0 };

		snprintf(command, sizeof command, "scancel %.40s 2>&1", job);
		ask(command, &b);
		pm_buf_release(&b);
	}
}

/* Arrays that an earlier launcher has submitted. */
static void wait_for_earlier(struct slurm *x)
{
	char *path = sweep_dir_file(x->l->d, "slurm");
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && !stopped(x) && (e = readdir(dir))) {
		struct pm_err ignored = { 0 };
		struct pm_buf b = { 0 };
		char name[300], *file;
		const size_t n = strlen(e->d_name);

		if (n < 5 || strcmp(e->d_name + n - 4, ".job"))
			continue;
		snprintf(name, sizeof name, "slurm/%s", e->d_name);
		file = sweep_dir_file(x->l->d, name);
		if (pm_json_load(file, &b, &ignored) == PM_OK &&
		    strspn((char *)b.p, "0123456789") + 1 == b.n)
			wait_for(x, (const char *)b.p);
		if (!stopped(x))
			unlink(file);
		pm_buf_release(&b);
		free(file);
	}
	if (dir)
		closedir(dir);
	free(path);
}

static enum pm_status submit(struct slurm *x, const char *script, char job[static 41])
{
	struct pm_buf command = { 0 }, b = { 0 };
	size_t digits;
	int status = -1;

	pm_buf_printf(&command, "sbatch --parsable ");
	put_quoted(&command, script);
	pm_buf_printf(&command, " 2>&1");
	pm_buf_add(&command, "", 1);
	for (unsigned i = 0; i < 15 && status && !stopped(x); i++) {
		if (i)
			poll(NULL, 0, 2000);
		b.n = 0;
		status = ask((const char *)command.p, &b);
		if (!strstr((char *)b.p, "contact") && !strstr((char *)b.p, "timed out"))
			break;		/* the controller is there */
	}
	digits = strspn((char *)b.p, "0123456789");
	snprintf(job, 41, "%.*s", (int)digits, (char *)b.p);
	if (status || !digits) {
		((char *)b.p)[strcspn((char *)b.p, "\n")] = 0;
		x->err->file = NULL;
		pm_fail_file(x->err, "%.200s", *b.p ? (char *)b.p : "sbatch says nothing");
	}
	pm_buf_release(&command);
	pm_buf_release(&b);
	return pm_failed(x->err) ? PM_ERR : PM_OK;
}

/* One array for all that is missing, to its end. */
static enum pm_status one_array(struct slurm *x)
{
	struct pm_buf batches = { 0 }, script = { 0 }, job = { 0 };
	char *file = NULL, *path = NULL, *kept = NULL, id[41] = "";
	enum pm_status s;
	uint64_t n;

	/* an array may end within the second that it began in */
	snprintf(x->id, sizeof x->id, "%lld-%ld-%u", (long long)time(NULL), (long)getpid(),
		 ++x->narray);
	n = make_batches(x, &batches);
	s = save(x, "batches", &batches, &file);
	if (!s) {
		make_script(x, n, file, &script);
		if (x->o->print)
			printf("%.*s", (int)script.n, (const char *)script.p);
		else
			s = save(x, "sh", &script, &path);
	}
	if (!s && !x->o->print)
		s = submit(x, path, id);
	if (!s && *id) {
		pm_buf_printf(&job, "%s", id);
		s = save(x, "job", &job, &kept);
		if (!s && !x->o->no_wait)
			wait_for(x, id);
		if (!s && !x->o->no_wait && !stopped(x))
			unlink(kept);
	}
	pm_buf_release(&batches);
	pm_buf_release(&script);
	pm_buf_release(&job);
	free(file);
	free(path);
	free(kept);
	return s;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* How much the gang had that failed for want of memory, as the result under @key says; 0: it did
 * not. */
static uint64_t lacked_memory(const struct sweep_dir *d, const char *key)
{
	struct pm_result *r = sweep_result_read(d, key);
	const struct pm_result_node *f = r ? pm_result_find(pm_result_root(r), "failure") : NULL;
	const struct pm_result_node *limit = f ? pm_result_find(f, "memory_limit") : NULL;
	const char *cause = f ? pm_result_find_text(f, "cause") : NULL;
	uint64_t had = 0;

	if (cause && !strcmp(cause, "memory") && limit && limit->kind == PM_RESULT_U64)
		had = limit->u64;
	pm_result_free(r);
	return had;
}

/* Failures for want of memory are missing again, if a gang may have more; *most: of what they had,
 * the most. */
static enum pm_status forget_small(struct slurm *x, uint64_t *most)
{
	char *path = sweep_dir_file(x->l->d, "failed");
	DIR *dir = opendir(path);
	enum pm_status s = PM_OK;
	struct dirent *e;

	*most = 0;
	while (dir && !s && (e = readdir(dir))) {
		char key[SWEEP_KEY + 1];
		uint64_t had;

		if (strlen(e->d_name) != SWEEP_KEY + 5)
			continue;
		snprintf(key, sizeof key, "%.*s", SWEEP_KEY, e->d_name);
		had = lacked_memory(x->l->d, key);
		if (had && had < x->l->mem_most && sweep_lock(x->l->d, key, x->err)) {
			s = sweep_failure_remove(x->l->d, key, x->err);
			sweep_unlock(x->l->d, key);
			*most = had > *most ? had : *most;
			x->forgotten++;
		}
	}
	if (dir)
		closedir(dir);
	free(path);
	return s;
}

/* Also of what failed under an earlier launcher, which may have been killed before it saw that. */
static enum pm_status more_memory(struct slurm *x)
{
	uint64_t had = 0;
	enum pm_status s = PM_OK;

	if (x->l->mem)
		s = forget_small(x, &had);
	if (had && x->l->mem < 2 * had)
		x->l->mem = 2 * had < x->l->mem_most ? 2 * had : x->l->mem_most;
	return s;
}

/* ---- all arrays ----------------------------------------------------------------------------- */

/* Only one launcher of a folder submits; the others wait for it. */
static enum pm_status be_alone(struct slurm *x)
{
	bool told = false;

	while (!stopped(x) && !sweep_lock(x->l->d, SWEEP_LAUNCHER, x->err)) {
		if (pm_failed(x->err))
			return PM_ERR;
		if (!told && x->l->note)
			x->l->note(x->l->arg, "another launcher submits for this folder: waiting");
		told = true;
		poll(NULL, 0, 1000);
	}
	return PM_OK;
}

static enum pm_status work(struct slurm *x)
{
	uint64_t before = UINT64_MAX;
	unsigned in_vain = 0;
	enum pm_status s = be_alone(x);

	if (!s && !x->o->print)
		wait_for_earlier(x);
	if (!s && !x->o->print)
		s = more_memory(x);
	x->forgotten = 0;		/* those were an earlier launcher's */
	while (!s && !stopped(x)) {
		list_missing(x, before == UINT64_MAX);
		if (!x->n)
			return PM_OK;
		in_vain = x->missing < before ? 0 : in_vain + 1;
		if (in_vain == IN_VAIN) {
			x->err->file = x->l->d->path;
			return pm_fail_file(x->err, "%d arrays in a row brought no result; see "
					    "slurm/%s-*.out", IN_VAIN, x->id);
		}
		before = x->missing;
		s = one_array(x);
		if (x->o->print || x->o->no_wait)
			return s;
		x->l->retry = false;	/* once */
		if (!s)
			s = more_memory(x);
	}
	return s;
}

enum pm_status sweep_run_slurm(struct sweep_launch *l, const struct sweep_slurm *o,
			       struct pm_err *err)
{
	struct slurm x = { .l = l, .o = o, .err = err, .began = time(NULL) };
	char *sub = sweep_dir_file(l->d, "slurm");
	struct sweep_state was = { 0 }, is = { 0 };
	enum pm_status s = PM_OK;

	if (!l->mem_most)
		l->mem_most = 8 * l->mem;
	l->progress = (struct sweep_progress){ .jobs = l->p->njob };
	x.dir = realpath(l->d->path, NULL);
	if (!x.dir || (mkdir(sub, 0777) && errno != EEXIST)) {
		err->file = l->d->path;
		s = pm_fail_errno(err, "cannot create its folder for batches");
	}
	sweep_state_pace(&was, l->d);
	if (!s)
		s = work(&x);
	sweep_state_pace(&is, l->d);
	l->progress.computed = is.computed - was.computed;
	l->progress.failed = is.gave_up - was.gave_up - x.forgotten;
	l->progress.seconds = (double)(time(NULL) - x.began);
	free(sub);
	free(x.dir);
	free(x.gang);
	free(x.njob);
	return s;
}
