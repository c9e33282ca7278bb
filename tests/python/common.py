# SPDX-License-Identifier: MIT
"""What the tests share: samples, and the command to compare with."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import pandas
except ImportError:
    pandas = None

BUILD = Path(os.environ["BUILD"])
DATA = Path(os.environ["TOP"]) / "tests" / "data"
REAL = DATA / "real.pug"
BLOCKS = DATA / "blocks.pug"
COMMAND = os.environ["PUGMARK"]
SAMPLES = [line.split() for line in (DATA / "formats" / "LIST").read_text().splitlines()
           if line and not line.startswith("#")]

needs_pandas = unittest.skipUnless(pandas, "needs python3-pandas")


def pugmark_says(*args):
    """What the command prints; its text, which may hold any bytes."""
    done = subprocess.run([COMMAND, *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode("utf-8", "surrogateescape")


def pugmark_json(*args):
    return json.loads(pugmark_says(*args))


class InScratch(unittest.TestCase):
    """Each test has an empty directory."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="pugmark-test.")
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)
