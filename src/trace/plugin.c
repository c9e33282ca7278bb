/* SPDX-License-Identifier: MIT */
/* plugin.c - `--sink SPEC`: built-in sinks by name, users' own from shared objects */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/near.h"
#include "trace/sinks.h"

/* The struct as it was when PM_ABI became 2: a plug-in's is never smaller. */
#define OPS_SIZE_2	(offsetof(struct pm_sink_ops, destroy) + sizeof(void (*)(void *)))

const struct pm_sink_ops *const pm_hub_sinks[] = {
	&pm_count_ops.ops, &pm_digest_ops, &pm_dump_ops, &pm_dump_blocks_ops, &pm_discard_ops, NULL
};

static const struct pm_sink_ops *find(const struct pm_sink_ops *const *list, const char *name)
{
	for (; list && *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

/* Plug-ins stay loaded until the process ends, and their ops stay here. */
struct plugin {
	struct plugin *next;
	struct pm_sink_ops ops;
};
static struct plugin *loaded;

/* The bytes of the object at @at, which is a symbol of a shared object; 0 if it is no object. */
static size_t symbol_size(const void *at)
{
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (!dladdr1(at, &info, (void **)&sym, RTLD_DL_SYMENT) || !sym || info.dli_saddr != at)
		return 0;
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT ? sym->st_size : 0;
}

static bool all_zero(const void *p, size_t n)
{
	const uint8_t *v = p;

	while (n && !*v) {
		v++;
		n--;
	}
	return !n;
}

/* What the plug-in's own, at @own with @bytes, says becomes @ops. It may be of another header. */
static enum pm_status adopt(struct pm_sink_ops *ops, const void *own, size_t bytes,
			    const char *path, struct pm_err *err)
{
	/* all there are */
	const uint32_t flags = 2 * PM_SINK_REFS - 1, facts = 2 * PM_HAS_OBJECTS - 1;
	const struct pm_sink_ops *from = own;
	uint32_t size;

	if (bytes < offsetof(struct pm_sink_ops, needs))
		return pm_fail_file(err,
				    "'%s' is no plug-in: its pm_plugin is no struct pm_sink_ops",
				    path);
	if (from->abi != PM_ABI)
		return pm_fail_file(err,
				    "the plug-in '%s' was built for interface %u, this pugmark has "
				    "%u: "
				    "rebuild it",
				    path, from->abi, PM_ABI);
	size = from->size;
	if (size > bytes || size < OPS_SIZE_2)
		return pm_fail_file(err,
				    "the plug-in '%s' says that its pm_plugin has %u bytes; it has "
				    "%zu, "
				    "and %zu are the least",
				    path, size, bytes, (size_t)OPS_SIZE_2);
	*ops = (struct pm_sink_ops){ 0 };
	memcpy(ops, from, size < sizeof *ops ? size : sizeof *ops);
	if (ops->needs & ~facts || ops->flags & ~flags ||
	    (size > sizeof *ops && !all_zero((const char *)from + sizeof *ops, size - sizeof *ops)))
		return pm_fail_file(err,
				    "the plug-in '%s' needs more than this pugmark has: it was "
				    "built for "
				    "a newer one",
				    path);
	if (!ops->name || !ops->create || !ops->consume)
		return pm_fail_file(err, "the plug-in '%s' lacks a name, create() or consume()",
				    path);
	ops->flags |= PM_SINK_PLUGIN;
	return PM_OK;
}

/* How plug-ins are loaded. RTLD_LOCAL: two of them may both define pm_plugin. RTLD_DEEPBIND: a
 * plug-in's own functions, and those of the libraries that it brings, come before those of the
 * shared libraries that pugmark needs. That cannot be where malloc() is not libc's: the plug-in
 * would free with one what the other gave, and sanitizers refuse it. */
static int plugin_mode(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	bool plain = libc && dlsym(RTLD_DEFAULT, "malloc") == dlsym(libc, "malloc");
	char ***own_environ = plain ? dlsym(libc, "environ") : NULL;

	/* an executable's is a copy that everybody else uses; the plug-in would find libc's own */
	if (own_environ)
		*own_environ = environ;
	if (libc)
		dlclose(libc);
	return RTLD_LOCAL | (plain ? RTLD_DEEPBIND : 0);
}

/* Open @path with @when (RTLD_NOW, RTLD_LAZY). One that is linked with a libpugmark that is not the
 * one here gets its functions from here all the same: what they work on is made here. */
static void *open_plugin(const char *path, int when)
{
	int mode = plugin_mode();
	void *so = dlopen(path, when | mode);
	void *theirs = so ? dlsym(so, "pm_result_u64") : NULL;

	if (!theirs || theirs == (void *)pm_result_u64 || !(mode & RTLD_DEEPBIND))
		return so;
	dlclose(so);
	return dlopen(path, when | (mode & ~RTLD_DEEPBIND));
}

/* Why the file cannot be loaded, which the loader puts as @why. One of another interface may lack
 * functions, and that is not the reason. */
static void explain(const char *path, const char *why, struct pm_err *err)
{
	void *so = open_plugin(path, RTLD_LAZY);
	const void *from = so ? dlsym(so, "pm_plugin") : NULL;
	struct pm_sink_ops ignored;
	size_t n = strlen(path);

	if (from)
		adopt(&ignored, from, symbol_size(from), path, err);
	/* the loader repeats the name; say it once */
	if (why && !strncmp(why, path, n) && !strncmp(why + n, ": ", 2))
		why += n + 2;
	pm_fail_file(err, "cannot load the plug-in '%s': %s", path, why ? why : "unknown reason");
	if (so)
		dlclose(so);
}

static const struct pm_sink_ops *load(const char *path, struct pm_err *err)
{
	void *so = open_plugin(path, RTLD_NOW);
	const void *from;
	struct plugin *p;

	if (!so) {
		char *why = pm_strdup(dlerror());

		explain(path, why, err);
		free(why);
		return NULL;
	}
	p = pm_alloc(sizeof *p);
	from = dlsym(so, "pm_plugin");
	if (!from)
		pm_fail_file(err, "'%s' is no plug-in: it does not define pm_plugin", path);
	else if (adopt(&p->ops, from, symbol_size(from), path, err) == PM_OK) {
		p->next = loaded;
		loaded = p;
		return &p->ops;
	}
	free(p);
	dlclose(so);
	return NULL;
}

static void unknown(const struct pm_sink_ops *const *more, const char *name, struct pm_err *err)
{
	const struct pm_sink_ops *const *const list[] = { more, pm_hub_sinks };
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];

	for (unsigned i = 0; i < NR(list); i++)
		for (const struct pm_sink_ops *const *o = list[i]; o && *o; o++)
			pm_nearest_try(&near, name, (*o)->name);
	if (near.n)
		pm_fail_request(err, "'%.40s' is not a sink%s", name,
				pm_nearest_hint(&near, hint));
	else
		pm_fail_request(err,
				"'%.40s' is not a sink: `pugmark sim --list` shows them, "
				"./plugin.so is one of your own",
				name);
}

enum pm_status pm_sink_add(struct pm_pipeline *p, const char *spec,
			   const struct pm_sink_ops *const *more, struct pm_err *err)
{
	const char *colon = strchr(spec, ':');
	size_t n = colon ? (size_t)(colon - spec) : strlen(spec);
	const struct pm_sink_ops *ops;
	char name[1024];

	if (n >= sizeof name)
		return pm_fail_file(err, "a sink's name of %zu bytes", n);
	memcpy(name, spec, n);
	name[n] = 0;
	if (strchr(name, '/') || (n > 3 && !strcmp(name + n - 3, ".so"))) {
		/* without a slash the loader would search its own folders instead of this one */
		if (!strchr(name, '/') && n + 2 < sizeof name) {
			memmove(name + 2, name, n + 1);
			memcpy(name, "./", 2);
		}
		ops = load(name, err);
	} else {
		ops = find(pm_hub_sinks, name);
		if (!ops)
			ops = find(more, name);
		if (!ops)
			unknown(more, name, err);
	}
	if (!ops)
		return PM_ERR;
	return pm_pipeline_sink_new(p, ops, colon ? colon + 1 : "", err);
}
