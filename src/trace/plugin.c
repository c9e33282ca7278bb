/* SPDX-License-Identifier: MIT */
/* plugin.c - `--sink SPEC`: built-in sinks by name, users' own from shared objects */
#include <dlfcn.h>
#include <string.h>

#include "base/mem.h"
#include "trace/sinks.h"

const struct pm_sink_ops *const pm_hub_sinks[] = {
	&pm_count_ops, &pm_digest_ops, &pm_dump_ops, &pm_dump_blocks_ops, &pm_discard_ops, NULL
};

static const struct pm_sink_ops *find(const struct pm_sink_ops *const *list, const char *name)
{
	for (; list && *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

static const struct pm_sink_ops *load(const char *path, struct pm_err *err)
{
	const struct pm_sink_ops *ops;
	void *so;

	/* RTLD_LOCAL: two plug-ins may both define pm_plugin */
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		const char *why = dlerror();
		size_t n = strlen(path);

		/* the loader repeats the name; say it once */
		if (why && !strncmp(why, path, n) && !strncmp(why + n, ": ", 2))
			why += n + 2;
		pm_fail_file(err, "cannot load the plug-in '%s': %s", path, why ? why : "unknown reason");
		return NULL;
	}
	ops = dlsym(so, "pm_plugin");
	if (!ops) {
		pm_fail_file(err, "'%s' is no plug-in: it does not define pm_plugin", path);
	} else if (ops->abi != PM_ABI) {
		pm_fail_file(err, "the plug-in '%s' was built for interface %u, this pugmark has %u: rebuild it",
			     path, ops->abi, PM_ABI);
		ops = NULL;
	} else if (!ops->name || !ops->create || !ops->consume) {
		pm_fail_file(err, "the plug-in '%s' lacks a name, create() or consume()", path);
		ops = NULL;
	}
	if (!ops)
		dlclose(so);
	return ops;
}

static void unknown(const struct pm_sink_ops *const *more, const char *name, struct pm_err *err)
{
	struct pm_buf all = { 0 };

	for (const struct pm_sink_ops *const *o = more; o && *o; o++)
		pm_buf_printf(&all, "%s, ", (*o)->name);
	for (const struct pm_sink_ops *const *o = pm_hub_sinks; *o; o++)
		pm_buf_printf(&all, "%s, ", (*o)->name);
	pm_fail_file(err, "'%.40s' is not a sink; there are %.*sand ./plugin.so", name, (int)all.n, (const char *)all.p);
	pm_buf_release(&all);
}

enum pm_status pm_sink_add(struct pm_pipeline *p, const char *spec, const struct pm_sink_ops *const *more,
			   struct pm_err *err)
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
