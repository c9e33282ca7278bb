/* SPDX-License-Identifier: MIT */
/* defective.c - what is no plug-in of this interface, or not quite: cc -DONE_OF_THEM */
#include <stdlib.h>

#include <pugmark/pugmark.h>

static void *create(const char *config, struct pm_err *err)
{
	return calloc(1, 1);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return PM_OK;
}

#define USUAL .abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .name = "bare", .create = create, \
	.consume = consume, .destroy = free

#if defined FIRST
/* Of interface 1: a shorter struct in another order, and a function that there is no more. */
void pm_err_print(const struct pm_err *e, void *to);
__attribute__((visibility("default"))) const struct {
	uint32_t abi, needs, flags;
	const char *name;
	void (*f)(const struct pm_err *, void *);
} first __asm__("pm_plugin") = { 1, 0, 0, "first", NULL };
enum pm_status unused(void);
enum pm_status unused(void)
{
	pm_err_print(NULL, NULL);
	return PM_OK;
}
#elif defined NEXT
const struct pm_sink_ops pm_plugin = { .abi = PM_ABI + 1 };
#elif defined NUMBER
const uint32_t number __asm__("pm_plugin") = PM_ABI;
#elif defined FUNCTION
void function(void) __asm__("pm_plugin");
void function(void) { }
#elif defined SHORT
const struct pm_sink_ops pm_plugin = { .abi = PM_ABI, .size = 16 };
#elif defined LONG
const struct pm_sink_ops pm_plugin = { .abi = PM_ABI, .size = sizeof(struct pm_sink_ops) + 8 };
#elif defined NAMELESS
const struct pm_sink_ops pm_plugin = { .abi = PM_ABI, .size = sizeof(struct pm_sink_ops),
	.create = create };
#elif defined FLAGS
const struct pm_sink_ops pm_plugin = { USUAL, .flags = 1u << 24 };
#elif defined LACKS
void pm_nothing_that_there_is(void);
static void destroy(void *self)
{
	pm_nothing_that_there_is();
}
const struct pm_sink_ops pm_plugin = { .abi = PM_ABI, .size = sizeof(struct pm_sink_ops),
	.name = "lacks",
	.create = create, .consume = consume, .destroy = destroy };
#else
/* Of a later pugmark, which has a field more: TAIL is what it has in it. */
const struct { struct pm_sink_ops ops; uint64_t more; } later __asm__("pm_plugin") = {
	{ .abi = PM_ABI, .size = sizeof later, .name = "later", .create = create,
	  .consume = consume, .destroy = free },
	TAIL
};
#endif
