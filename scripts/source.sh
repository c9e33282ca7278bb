#!/bin/sh
# SPDX-License-Identifier: MIT
# source.sh - what git has committed as a tar file on standard output: the same bytes of the same commit, wherever
#
#   scripts/source.sh VERSION       everything is below pugmark-VERSION/
set -eu
cd "$(dirname "$0")/.."
# The user's settings of git would change modes, ends of lines, or which files there are.
exec git -c tar.umask=0022 -c core.autocrlf=false -c core.attributesFile=/dev/null \
	archive --format=tar --prefix="pugmark-$1/" HEAD
