// SPDX-License-Identifier: GPL-2.0
/*
 * The CITCAT driver: `echo begin > /proc/citcat` starts a trace, `echo end > /proc/citcat` ends it.
 */
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>

#include <asm/addrspace.h>

void citcat_begin(void);	/* citcat-begin.S */

static ssize_t citcat_write(struct file *file, const char __user *buf, size_t n, loff_t *pos)
{
	unsigned long flags;
	char c;

	if (!n || get_user(c, buf))
		return -EFAULT;
	switch (c) {
	case 'b':
		local_irq_save(flags);
		((void (*)(void))CKSEG1ADDR((unsigned long)citcat_begin))();
		local_irq_restore(flags);
		return n;
	case 'e':
		*(volatile unsigned int *)0xbf030028 = 0;
		return n;
	}
	return -EINVAL;
}

static const struct proc_ops citcat_ops = {
	.proc_write	= citcat_write,
};

static int __init citcat_init(void)
{
	return proc_create("citcat", 0200, NULL, &citcat_ops) ? 0 : -ENOMEM;
}
device_initcall(citcat_init);
