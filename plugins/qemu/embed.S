/* SPDX-License-Identifier: MIT */
/* embed.S - the plug-in, carried as bytes */
	.section .rodata
	.globl pm_qemu_plugin, pm_qemu_plugin_end
pm_qemu_plugin:
	.incbin "qemu.so"
pm_qemu_plugin_end:
	.byte 0
	.section .note.GNU-stack,"",@progbits
