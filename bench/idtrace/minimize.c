/* SPDX-License-Identifier: MIT */
/* minimize.c - a two-level logic minimiser after Quine and McCluskey, with a greedy cover: what
 * espresso was to the 1994 report's Table 8, in one source for two machines
 *
 * Freestanding: it runs under Linux and bare on an R4400. Everything is in lists of cubes, as in
 * espresso; the functions are made up by a fixed generator. */
typedef unsigned u32;

#define VARS	9
#define ROUNDS	3
#define POOL	60000

struct cube { u32 value, dash; struct cube *next; int prime; };

static struct cube pool[POOL];
static u32 used;
static struct cube *level[VARS + 2], *primes;
static unsigned char covered[1u << VARS], wanted[1u << VARS];
unsigned result;

static struct cube *make(u32 value, u32 dash, struct cube *next)
{
	struct cube *c = pool + used++ % POOL;

	c->value = value;
	c->dash = dash;
	c->next = next;
	c->prime = 1;
	return c;
}

static u32 ones(u32 x)
{
	u32 n = 0;

	for (; x; x &= x - 1)
		n++;
	return n;
}

static int known(const struct cube *l, u32 value, u32 dash)
{
	for (; l; l = l->next)
		if (l->value == value && l->dash == dash)
			return 1;
	return 0;
}

/* One round of merging: cubes that differ in one literal become one. */
static int merge(void)
{
	struct cube *out[VARS + 2] = { 0 };
	int any = 0;

	for (u32 k = 0; k <= VARS; k++)
		for (struct cube *a = level[k]; a; a = a->next)
			for (struct cube *b = level[k + 1]; b; b = b->next) {
				u32 d = a->value ^ b->value;

				if (a->dash != b->dash || (d & (d - 1)))
					continue;
				a->prime = b->prime = 0;
				any = 1;
				if (!known(out[k], a->value & ~d, a->dash | d))
					out[k] = make(a->value & ~d, a->dash | d, out[k]);
			}
	for (u32 k = 0; k <= VARS; k++) {
		for (struct cube *a = level[k]; a; a = a->next)
			if (a->prime)
				primes = make(a->value, a->dash, primes);
		level[k] = out[k];
	}
	return any;
}

static u32 gain(const struct cube *c)
{
	u32 n = 0;

	for (u32 m = 0; m < 1u << VARS; m++)
		n += wanted[m] && !covered[m] && (m & ~c->dash) == c->value;
	return n;
}

static u32 cover(void)
{
	u32 terms = 0;

	for (;;) {
		const struct cube *best = 0;
		u32 most = 0;

		for (const struct cube *c = primes; c; c = c->next) {
			u32 g = gain(c);

			if (g > most) {
				most = g;
				best = c;
			}
		}
		if (!best)
			return terms;
		terms++;
		for (u32 m = 0; m < 1u << VARS; m++)
			if ((m & ~best->dash) == best->value)
				covered[m] = 1;
	}
}

void run(void)
{
	u32 seed = 12345;

	for (u32 round = 0; round < ROUNDS; round++) {
		used = 0;
		primes = 0;
		for (u32 k = 0; k < VARS + 2; k++)
			level[k] = 0;
		for (u32 m = 0; m < 1u << VARS; m++) {
			seed = seed * 1664525 + 1013904223;
			wanted[m] = (seed >> 16) % 8 < 3 || (m & (m >> 2) & 1);
			covered[m] = 0;
			if (wanted[m])
				level[ones(m)] = make(m, 0, level[ones(m)]);
		}
		while (merge())
			;
		result = result * 31 + cover();
	}
}
