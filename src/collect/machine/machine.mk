# SPDX-License-Identifier: MIT
# The script of `pugmark machine fetch-debian` is included in the program as it is.
$(B)/src/cli/cmd_machine.o: guest/debian/fetch-debian.sh
