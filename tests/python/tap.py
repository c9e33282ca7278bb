# SPDX-License-Identifier: MIT
"""Runs test_*.py beside it and says what came out as TAP: tap.py [NAME...]"""
import pathlib
import sys
import unittest

here = pathlib.Path(__file__).parent


class Tap(unittest.TestResult):
    n = 0

    def say(self, what, test, more="", why=""):
        self.n += 1
        for line in why.rstrip().split("\n") if why else []:
            print("#", line)
        print(f"{what} {self.n} - {test.id()}{more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say("not ok", test, why=self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.say("not ok", test, why=self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("ok", test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say("not ok", subtest, why=(self.failures + self.errors)[-1][1])


sys.path.insert(0, str(here))
loader = unittest.TestLoader()
if sys.argv[1:]:
    loader.testNamePatterns = [f"*{name}*" for name in sys.argv[1:]]
result = Tap()
loader.discover(str(here)).run(result)
print(f"1..{result.n}")
sys.exit(0 if result.n and result.wasSuccessful() else 1)
