# SPDX-License-Identifier: MIT
	.section .rodata
	.globl pm_rti_text, pm_rti_text_end, pm_rti_data, pm_rti_data_end, pm_rti_stub, pm_rti_stub_end
	.balign 4096
pm_rti_text:
	.incbin "rti.text"
pm_rti_text_end:
	.balign 4096
pm_rti_data:
	.incbin "rti.data"
pm_rti_data_end:
pm_rti_stub:
	.incbin "start.text"
pm_rti_stub_end:
	.section .note.GNU-stack,"",@progbits
