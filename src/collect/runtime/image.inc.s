# SPDX-License-Identifier: MIT
	.section .rodata
	.globl pm_rt_text, pm_rt_text_end, pm_rt_data, pm_rt_data_end
	.balign 4096
pm_rt_text:
	.incbin "rt.text"
pm_rt_text_end:
	.balign 4096
pm_rt_data:
	.incbin "rt.data"
pm_rt_data_end:
	.section .note.GNU-stack,"",@progbits
