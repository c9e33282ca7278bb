/* SPDX-License-Identifier: MIT */
/* cmd_completion.c - completion for shells, written from the tables by which options are parsed
 *
 * Each command is asked for its table (pm_opt_tables()) and describes itself as one piece of a
 * script. What a value or an operand may be follows from what --help calls it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyse/sims.h"
#include "base/whole_file.h"
#include "cli/cli.h"
#include "cli/traces.h"
#include "report/out.h"
#include "trace/sinks.h"

enum value_kind {
	VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_DIR, VALUE_PROGRAM,
};

struct value {				/* what may stand at some place */
	enum value_kind kind;
	struct pm_buf words;		/* of files: how their names may end */
};

struct shell {
	const char *name;
	void (*begin)(struct pm_buf *to);
	void (*command)(struct pm_buf *to, const char *path, const struct pm_opt *opts,
			const struct pm_opt_help *help);
	void (*end)(struct pm_buf *to);
};

struct describing {			/* a command, to a shell */
	const struct shell *shell;
	struct pm_buf *to;
	const char *path;		/* "machine run" */
};

/* ---- what may stand where -------------------------------------------------------------------- */

static void add_word(struct pm_buf *to, const char *word, size_t n)
{
	pm_buf_printf(to, "%s%.*s", to->n ? " " : "", (int)n, word);
}

static void add_formats(struct pm_buf *to, bool read, bool write)
{
	for (const struct pm_format *const *f = pm_formats; *f; f++)
		if ((read && (*f)->read) || (write && (*f)->write))
			add_word(to, (*f)->name, strlen((*f)->name));
}

/* How names of traces end, without the dot. */
static void add_suffixes(struct pm_buf *to)
{
	for (const struct pm_format *const *f = pm_formats; *f; f++)
		for (const char *s = (*f)->read ? (*f)->suffixes : NULL; s && *s; ) {
			size_t n = strcspn(s, " ");

			add_word(to, s + (*s == '.'), n - (*s == '.'));
			s += n;
			s += strspn(s, " ");
		}
}

static void add_commands(struct pm_buf *to)
{
	for (const struct command *c = commands; c->name; c++)
		add_word(to, c->name, strlen(c->name));
}

static void add_choices(struct pm_buf *to, const char *choices, size_t n)
{
	for (size_t i = 0; i < n; ) {
		size_t k = i;

		while (k < n && choices[k] != '|')
			k++;
		add_word(to, choices + i, k - i);
		i = k + 1;
	}
}

static bool is(const char *word, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(word, name, n);
}

/* The value that --help calls @arg, of option @option ("": an operand). */
static void value_of(const char *arg, size_t n, const char *option, struct value *v)
{
	static const char *const ends[] = { "json", "csv", "html" };

	if (is(arg, n, "FORMAT")) {
		v->kind = VALUE_WORDS;
		add_formats(&v->words, !strncmp(option, "from", 4), strncmp(option, "from", 4));
	} else if (is(arg, n, "NAME:CONFIG") || is(arg, n, "SPEC")) {
		v->kind = VALUE_WORDS;
		for (unsigned i = 0; pm_sims[i]; i++)
			add_word(&v->words, pm_sims[i]->name, strlen(pm_sims[i]->name));
		for (unsigned i = 0; pm_hub_sinks[i]; i++)
			add_word(&v->words, pm_hub_sinks[i]->name, strlen(pm_hub_sinks[i]->name));
	} else if (is(arg, n, "COMMAND")) {
		v->kind = VALUE_WORDS;
		add_commands(&v->words);
	} else if (is(arg, n, "NAME") && !*option) {
		v->kind = VALUE_WORDS;
		add_formats(&v->words, true, true);
	} else if (is(arg, n, "DIR")) {
		v->kind = VALUE_DIR;
	} else if (is(arg, n, "PROGRAM")) {
		v->kind = VALUE_PROGRAM;
	} else if (n > 5 && !memcmp(arg, "FILE.", 5)) {
		v->kind = VALUE_FILE;
		add_word(&v->words, arg + 5, n - 5);
	} else if (is(arg, n, "FILE") || is(arg, n, "PATH@ADDRESS") || is(arg, n, "BENCH") ||
		   is(arg, n, "A") || is(arg, n, "B") || is(arg, n, "TRACE") || is(arg, n, "IN") ||
		   is(arg, n, "OUT") || is(arg, n, "REFERENCES") || is(arg, n, "EVENTS")) {
		v->kind = VALUE_FILE;
		if (!*option && n > 1 && !is(arg, n, "BENCH") && !v->words.n)
			add_suffixes(&v->words);
		for (unsigned i = 0; i < NR(ends); i++)
			if (!strcmp(option, ends[i]))
				add_word(&v->words, option, strlen(option));
	} else if (memchr(arg, '|', n) && islower((unsigned char)*arg)) {
		v->kind = VALUE_WORDS;
		add_choices(&v->words, arg, n);
	}
}

static void option_value(const struct pm_opt *o, struct value *v)
{
	*v = (struct value){ 0 };
	if (o->arg)
		value_of(o->arg, strlen(o->arg), o->name, v);
	pm_buf_add(&v->words, "", 1);
}

/* What the command takes besides options: all words of its usage behind the command. */
static void operand_value(const struct pm_opt_help *help, struct value *v)
{
	const char *p = strchr(help->usage, ' ');
	bool option = false;

	*v = (struct value){ 0 };
	while (p && *p) {
		const char *word = p += strspn(p, " ");
		size_t n = strcspn(p, " ");
		bool was = option;

		p += n;
		option = n > 1 && word[0] == '[' && word[1] == '-';
		if (was || option)
			continue;
		while (n && *word == '[') {
			word++;
			n--;
		}
		while (n && strchr("].", word[n - 1]))
			n--;
		if (n && (isupper((unsigned char)*word) || memchr(word, '|', n)) &&
		    v->kind != VALUE_PROGRAM && (!help->commands || isupper((unsigned char)*word)))
			value_of(word, n, "", v);
	}
	for (const struct pm_opt_command *c = help->commands; c && c->name; c++) {
		v->kind = VALUE_WORDS;
		add_word(&v->words, c->name, strlen(c->name));
	}
	pm_buf_add(&v->words, "", 1);
}

/* Every option of a command, its own and those of all. */
static const struct pm_opt *next_option(const struct pm_opt *o, const struct pm_opt *own)
{
	static const struct pm_opt *common;

	if (!o)
		common = NULL;
	for (o = o ? o + 1 : own;; o++) {
		const struct pm_opt *same = own;

		if (o->kind == PM_OPT_END && !common) {
			common = pm_opt_common;
			o = common - 1;
			continue;
		}
		if (o->kind == PM_OPT_END)
			return NULL;
		if (o->kind == PM_OPT_HEAD)
			continue;
		while (common && same->kind != PM_OPT_END &&
		       (same->kind == PM_OPT_HEAD || strcmp(same->name, o->name)))
			same++;
		if (!common || same->kind == PM_OPT_END)
			return o;
	}
}

/* In single quotes. */
static void quote(struct pm_buf *to, const char *s)
{
	pm_buf_add(to, "'", 1);
	for (; *s; s++)
		pm_buf_printf(to, *s == '\'' ? "'\\''" : "%c", *s);
	pm_buf_add(to, "'", 1);
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_begin(struct pm_buf *to)
{
	pm_buf_printf(to, "%s",
		"# completion of pugmark for bash, by `pugmark completion bash`\n"
		"\n"
		"# Files whose names end as $1 says, or all if there are none; and directories.\n"
		"_pugmark_files() {\n"
		"\tlocal f some=() dirs=() all=() end\n"
		"\twhile IFS= read -r f; do\n"
		"\t\tall+=(\"$f\")\n"
		"\t\tif [[ -d $f ]]; then\n"
		"\t\t\tdirs+=(\"$f\")\n"
		"\t\t\tcontinue\n"
		"\t\tfi\n"
		"\t\tfor end in $1; do\n"
		"\t\t\tcase $f in\n"
		"\t\t\t*.$end | *.$end.gz | *.$end.zst | *.$end.xz | *.$end.bz2)\n"
		"\t\t\t\tsome+=(\"$f\")\n"
		"\t\t\t\tbreak ;;\n"
		"\t\t\tesac\n"
		"\t\tdone\n"
		"\tdone < <(compgen -f -- \"$cur\")\n"
		"\tif [[ ${#some[@]} -gt 0 ]]; then\n"
		"\t\tCOMPREPLY=(\"${some[@]}\" \"${dirs[@]}\")\n"
		"\telse\n"
		"\t\tCOMPREPLY=(\"${all[@]}\")\n"
		"\tfi\n"
		"\tcompopt -o filenames 2>/dev/null\n"
		"}\n"
		"\n"
		"_pugmark_values() {\t# KIND WORDS\n"
		"\tcase $1 in\n"
		"\twords) COMPREPLY=($(compgen -W \"$2\" -- \"$cur\")) ;;\n"
		"\tfile) _pugmark_files \"$2\" ;;\n"
		"\tdir)\n"
		"\t\tCOMPREPLY=($(compgen -d -- \"$cur\"))\n"
		"\t\tcompopt -o filenames 2>/dev/null ;;\n"
		"\tprogram) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
		"\tesac\n"
		"}\n"
		"\n"
		"_pugmark() {\n"
		"\tlocal IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} before= i at=0\n"
		"\tlocal cmd=${COMP_WORDS[0]##*/} opts= kind= words= operand= operands=\n"
		"\tCOMPREPLY=()\n"
		"\tif ((COMP_CWORD > 0)); then\n"
		"\t\tbefore=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tfi\n"
		"\t# --option=value comes as three words\n"
		"\tif [[ $cur == = ]]; then\n"
		"\t\tcur=\n"
		"\telif [[ $before == = ]] && ((COMP_CWORD > 2)); then\n"
		"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
		"\tfi\n"
		"\tif [[ $cmd == pugmark ]]; then\n"
		"\t\tif ((COMP_CWORD == 1)); then\n"
		"\t\t\tCOMPREPLY=($(compgen -W \"");
	for (const struct command *c = commands; c->name; c++)
		pm_buf_printf(to, "%s ", c->name);
	pm_buf_printf(to, "%s",
		"--help --version\" -- \"$cur\"))\n"
		"\t\t\treturn\n"
		"\t\tfi\n"
		"\t\tcmd=${COMP_WORDS[1]} at=1\n"
		"\tfi\n"
		"\tcase $cmd in\n");
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, "machine") || !strcmp(c->name, "citcat"))
			pm_buf_printf(to, "%s%s", !strcmp(c->name, "machine") ? "\t" : " | ",
				      c->name);
	pm_buf_printf(to, "%s",
		")\n"
		"\t\tif ((COMP_CWORD > at + 1)); then\n"
		"\t\t\tat=$((at + 1))\n"
		"\t\t\tcmd=\"$cmd ${COMP_WORDS[at]}\"\n"
		"\t\tfi ;;\n"
		"\tesac\n"
		"\tcase $cmd in\n");
}

static const char *kind_name(enum value_kind k)
{
	static const char *const name[] = { "none", "words", "file", "dir", "program" };

	return name[k];
}

static void bash_command(struct pm_buf *to, const char *path, const struct pm_opt *opts,
			 const struct pm_opt_help *help)
{
	struct value v;

	pm_buf_printf(to, "\t");
	quote(to, path);
	pm_buf_printf(to, ")\n\t\topts='");
	for (const struct pm_opt *o = NULL; (o = next_option(o, opts)); )
		pm_buf_printf(to, "--%s ", o->name);
	operand_value(help, &v);
	pm_buf_printf(to, "'\n\t\toperand=%s operands=", kind_name(v.kind));
	quote(to, (const char *)v.words.p);
	pm_buf_release(&v.words);
	pm_buf_printf(to, "\n\t\tcase $before in\n");
	for (const struct pm_opt *o = NULL; (o = next_option(o, opts)); ) {
		if (o->kind == PM_OPT_FLAG || o->kind == PM_OPT_OPTSTR)
			continue;
		option_value(o, &v);
		pm_buf_printf(to, "\t\t--%s", o->name);
		if (o->brief)
			pm_buf_printf(to, " | -%c", o->brief);
		pm_buf_printf(to, ") kind=%s", kind_name(v.kind));
		if (v.words.n > 1) {
			pm_buf_printf(to, " words=");
			quote(to, (const char *)v.words.p);
		}
		pm_buf_printf(to, " ;;\n");
		pm_buf_release(&v.words);
	}
	pm_buf_printf(to, "\t\tesac ;;\n");
}

static void bash_end(struct pm_buf *to)
{
	pm_buf_printf(to, "%s",
		"\tesac\n"
		"\t# what is traced completes as it would without pugmark in front\n"
		"\tif [[ $operand == program ]]; then\n"
		"\t\tfor ((i = at + 1; i < COMP_CWORD; i++)); do\n"
		"\t\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
		"\t\t\t\tif declare -F _command_offset >/dev/null; then\n"
		"\t\t\t\t\t_command_offset $((i + 1))\n"
		"\t\t\t\telif ((COMP_CWORD == i + 1)); then\n"
		"\t\t\t\t\t_pugmark_values program\n"
		"\t\t\t\telse\n"
		"\t\t\t\t\t_pugmark_files ''\n"
		"\t\t\t\tfi\n"
		"\t\t\t\treturn\n"
		"\t\t\tfi\n"
		"\t\tdone\n"
		"\tfi\n"
		"\tif [[ $kind ]]; then\n"
		"\t\t_pugmark_values \"$kind\" \"$words\"\n"
		"\telif [[ $cur == -* ]]; then\n"
		"\t\tCOMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
		"\telse\n"
		"\t\t_pugmark_values \"$operand\" \"$operands\"\n"
		"\tfi\n"
		"}\n"
		"\n"
		"complete -F _pugmark pugmark idt vcount vtrace rtrace idt2kt idtinfo\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_begin(struct pm_buf *to)
{
	pm_buf_printf(to, "%s",
		"#compdef pugmark idt vcount vtrace rtrace idt2kt idtinfo\n"
		"# completion of pugmark for zsh, by `pugmark completion zsh`\n"
		"\n"
		"_pugmark() {\n"
		"\tlocal curcontext=$curcontext cmd=${words[1]:t}\n"
		"\tlocal -a all\n"
		"\tlocal -A opt_args\n"
		"\tif [[ $cmd == pugmark ]]; then\n"
		"\t\tif ((CURRENT == 2)); then\n"
		"\t\t\tall=(\n");
	for (const struct command *c = commands; c->name; c++) {
		struct pm_buf line = { 0 };

		pm_buf_printf(&line, "%s:%s", c->name, c->about);
		pm_buf_add(&line, "", 1);
		pm_buf_printf(to, "\t\t\t\t");
		quote(to, (const char *)line.p);
		pm_buf_printf(to, "\n");
		pm_buf_release(&line);
	}
	pm_buf_printf(to, "%s",
		"\t\t\t)\n"
		"\t\t\t_describe command all\n"
		"\t\t\treturn\n"
		"\t\tfi\n"
		"\t\tshift words\n"
		"\t\t((CURRENT--))\n"
		"\t\tcmd=${words[1]}\n"
		"\tfi\n"
		"\tif [[ $cmd == (machine|citcat) ]] && ((CURRENT > 2)); then\n"
		"\t\tshift words\n"
		"\t\t((CURRENT--))\n"
		"\t\tcmd=\"$cmd ${words[1]}\"\n"
		"\tfi\n"
		"\tcase $cmd in\n");
}

/* In a specification of _arguments [ ] : end what they stand in. */
static void zsh_text(struct pm_buf *to, const char *s)
{
	for (; *s; s++)
		pm_buf_printf(to, strchr("[]:\\", *s) ? "\\%c" : "%c", *s);
}

static void zsh_value(struct pm_buf *to, const struct value *v)
{
	struct pm_buf glob = { 0 };

	switch (v->kind) {
	case VALUE_NONE:
		pm_buf_add(to, " ", 1);
		break;
	case VALUE_WORDS:
		pm_buf_printf(to, "(%s)", (const char *)v->words.p);
		break;
	case VALUE_FILE:
		add_choices(&glob, (const char *)v->words.p, v->words.n - 1);
		for (size_t i = 0; i < glob.n; i++)
			if (glob.p[i] == ' ')
				glob.p[i] = '|';
		/* the first pattern that matches anything counts */
		if (glob.n)
			pm_buf_printf(to, "{_files -g \"*.(%.*s)(|.gz|.zst|.xz|.bz2)(-.)\" || "
					  "_files}", (int)glob.n, (const char *)glob.p);
		else
			pm_buf_printf(to, "_files");
		pm_buf_release(&glob);
		break;
	case VALUE_DIR:
		pm_buf_printf(to, "_files -/");
		break;
	case VALUE_PROGRAM:
		pm_buf_printf(to, "_normal -p pugmark");
		break;
	}
}

static void zsh_option(struct pm_buf *to, const struct pm_opt *o)
{
	const char *joined = o->kind == PM_OPT_FLAG ? "" : o->kind == PM_OPT_OPTSTR ? "=-" : "=";
	struct pm_buf spec = { 0 };
	struct value v;

	pm_buf_printf(&spec, "[");
	zsh_text(&spec, o->about);
	pm_buf_printf(&spec, "]");
	if (o->kind != PM_OPT_FLAG) {
		option_value(o, &v);
		pm_buf_printf(&spec, "%s", o->kind == PM_OPT_OPTSTR ? "::" : ":");
		zsh_text(&spec, o->arg);
		pm_buf_printf(&spec, ":");
		zsh_value(&spec, &v);
		pm_buf_release(&v.words);
	}
	pm_buf_add(&spec, "", 1);
	if (o->brief && o->kind != PM_OPT_LIST)
		pm_buf_printf(to, " \\\n\t\t\t'(-%c --%s)'{-%c,--%s%s}", o->brief, o->name,
			      o->brief, o->name, joined);
	else if (o->brief)
		pm_buf_printf(to, " \\\n\t\t\t\\*{-%c,--%s%s}", o->brief, o->name, joined);
	else
		pm_buf_printf(to, " \\\n\t\t\t%s--%s%s", o->kind == PM_OPT_LIST ? "\\*" : "",
			      o->name, joined);
	quote(to, (const char *)spec.p);
	pm_buf_release(&spec);
}

static void zsh_command(struct pm_buf *to, const char *path, const struct pm_opt *opts,
			const struct pm_opt_help *help)
{
	struct pm_buf spec = { 0 };
	struct value v;

	pm_buf_printf(to, "\t");
	quote(to, path);
	pm_buf_printf(to, ")\n\t\t_arguments -S -s");
	for (const struct pm_opt *o = NULL; (o = next_option(o, opts)); )
		zsh_option(to, o);
	operand_value(help, &v);
	pm_buf_printf(&spec, v.kind == VALUE_PROGRAM ? "*::program:" : "*: :");
	zsh_value(&spec, &v);
	pm_buf_add(&spec, "", 1);
	if (v.kind != VALUE_NONE) {
		pm_buf_printf(to, " \\\n\t\t\t");
		quote(to, (const char *)spec.p);
	}
	pm_buf_release(&spec);
	pm_buf_release(&v.words);
	pm_buf_printf(to, " ;;\n");
}

static void zsh_end(struct pm_buf *to)
{
	pm_buf_printf(to, "%s",
		"\tesac\n"
		"}\n"
		"\n"
		"# in fpath this file is the function's body; sourced, it only says who completes\n"
		"if [[ $funcstack[1] == _pugmark ]]; then\n"
		"\t_pugmark \"$@\"\n"
		"else\n"
		"\tcompdef _pugmark pugmark idt vcount vtrace rtrace idt2kt idtinfo\n"
		"fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_begin(struct pm_buf *to)
{
	pm_buf_printf(to, "# completion of pugmark for fish, by `pugmark completion fish`\n"
			  "complete -c pugmark -f\n");
	for (const struct command *c = commands; c->name; c++) {
		pm_buf_printf(to, "complete -c pugmark -n __fish_use_subcommand -a %s -d ",
			      c->name);
		quote(to, c->about);
		pm_buf_printf(to, "\n");
	}
}

/* The condition: the command's words are there, all of them. */
static void fish_line(struct pm_buf *to, const char *path)
{
	const char *sub = strchr(path, ' ');

	pm_buf_printf(to, "complete -c pugmark -n '__fish_seen_subcommand_from %.*s",
		      sub ? (int)(sub - path) : (int)strlen(path), path);
	if (sub)
		pm_buf_printf(to, "; and __fish_seen_subcommand_from %s", sub + 1);
	pm_buf_printf(to, "'");
}

static void fish_value(struct pm_buf *to, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NONE:
		break;
	case VALUE_WORDS:
		pm_buf_printf(to, " -a ");
		quote(to, (const char *)v->words.p);
		break;
	case VALUE_FILE:
		pm_buf_printf(to, " -F");
		break;
	case VALUE_DIR:
		pm_buf_printf(to, " -a '(__fish_complete_directories)'");
		break;
	case VALUE_PROGRAM:
		pm_buf_printf(to, " -a '(__fish_complete_subcommand --fcs-skip=2)'");
		break;
	}
}

static void fish_command(struct pm_buf *to, const char *path, const struct pm_opt *opts,
			 const struct pm_opt_help *help)
{
	struct value v;

	for (const struct pm_opt *o = NULL; (o = next_option(o, opts)); ) {
		fish_line(to, path);
		pm_buf_printf(to, " -l %s", o->name);
		if (o->brief)
			pm_buf_printf(to, " -s %c", o->brief);
		if (o->kind != PM_OPT_FLAG && o->kind != PM_OPT_OPTSTR) {
			option_value(o, &v);
			pm_buf_printf(to, " -r");
			fish_value(to, &v);
			pm_buf_release(&v.words);
		}
		pm_buf_printf(to, " -d ");
		quote(to, o->about);
		pm_buf_printf(to, "\n");
	}
	operand_value(help, &v);
	if (v.kind != VALUE_NONE) {
		fish_line(to, path);
		fish_value(to, &v);
		pm_buf_printf(to, "\n");
	}
	pm_buf_release(&v.words);
}

static void fish_end(struct pm_buf *to)
{
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct shell shells[] = {
	{ "bash", bash_begin, bash_command, bash_end },
	{ "zsh", zsh_begin, zsh_command, zsh_end },
	{ "fish", fish_begin, fish_command, fish_end },
};

static void see(void *ctx, const struct pm_opt *opts, const struct pm_opt_help *help)
{
	const struct describing *d = ctx;

	d->shell->command(d->to, d->path, opts, help);
	for (const struct pm_opt_command *c = help->commands; c && c->name; c++) {
		char path[80], name[40], *argv[] = { name, NULL };
		struct describing sub = { d->shell, d->to, path };

		snprintf(path, sizeof path, "%s %s", d->path, c->name);
		snprintf(name, sizeof name, "%s", c->name);
		pm_opt_tables(c->run, 1, argv, see, &sub);
	}
}

int cmd_completion(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark completion bash|zsh|fish",
		"Prints a script with which the shell completes pugmark's commands, their options, "
		"and values of these.\n"
		"`make install` puts the scripts where shells look for them.",
		"  source <(pugmark completion bash)                     in this shell\n"
		"  pugmark completion fish >~/.config/fish/completions/pugmark.fish\n"
		"  pugmark completion zsh >DIRECTORY/_pugmark            DIRECTORY is in $fpath"
	};
	static const struct pm_opt none[] = { OPT_END };
	const struct shell *shell = NULL;
	struct pm_buf out = { 0 };
	struct pm_err err = { 0 };
	int status = 0;

	if (pm_opt_parse(argc, argv, none, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one shell" : "missing shell: bash, zsh or fish");
	for (unsigned i = 0; i < NR(shells); i++)
		if (!strcmp(argv[0], shells[i].name))
			shell = shells + i;
	if (!shell)
		pm_opt_usage(&help, "expected bash, zsh or fish, not '%s'", argv[0]);
	shell->begin(&out);
	for (const struct command *c = commands; c->name; c++) {
		char name[40], *words[] = { name, NULL };
		struct describing d = { shell, &out, c->name };

		snprintf(name, sizeof name, "%s", c->name);
		pm_opt_tables(c->run, 1, words, see, &d);
	}
	shell->end(&out);
	if (pm_file_save("-", &out, &err) != PM_OK)
		status = traces_fail(&err);
	pm_buf_release(&out);
	return status;
}
