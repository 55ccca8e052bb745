#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Submits random batches of jobs twice, with and without the documented comment, where limits of accounts and QOS bind.

All jobs of a batch are submitted one after the other; then its first running job is cancelled, again and again, so that
limits allow others. Both times, the same jobs must be accepted, run and wait for the same limit at each of these stages,
those with the comment at most 2 s later; schedd must reserve nothing for a job at a limit. The jobs have only options
with which schedd may place them, except in batches of one job. Prints TAP. Needs slurm_pairs.sh's cluster with accounts.
"""
import random
import sys
import time

sys.dont_write_bytecode = True
from slurm_pairs import LATER_S, LIMIT, OPTIONS, WAITS_S, Half, Others, begin, call, compare, judge, pick, say

# Of slurm_cluster.sh, add_limits, except "urgent", whose jobs preempt others of the batch.
BINDING = ["few", "small", "one", "group", "user"]  # the end of a job allows another
ACCOUNTS = 2 * BINDING + ["capped", "narrow", "denied", "short"]
STAGES = 3


def make_batch(rng):
    """The lines of a batch: one or two accounts, so that its jobs share limits."""
    if rng.random() < 0.1:
        return [["-n", str(rng.randint(1, 9)), "-A", rng.choice(ACCOUNTS + ["urgent"])] + rng.choice(OPTIONS)(rng)]
    accounts = rng.sample(ACCOUNTS, pick(rng, 1, 1, 2))
    lines = []
    for _ in range(rng.randint(2, 5)):
        words = ["-n", str(pick(rng, 1, 1, 2, 2, 3, 4, 5, 6, 9)), "-A", "main" if rng.random() < 0.15 else rng.choice(accounts)]
        if "short" in words or rng.random() < 0.3:
            words += ["-t", str(pick(rng, 5, 10, 30))]
        lines.append(words)
    return lines


def is_settled(half):
    """False for a job that Slurm may not have looked at yet; one that waits for its turn looks like this, too."""
    return not any(record["JobState"] == "PENDING" and record["Reason"] in ("None", "Priority") for record in half.records)


class Batch:
    """The jobs of a batch, with or without a comment."""

    def __init__(self, lines, script, comment):
        self.comment, self.halves = comment, []
        self.stages = []             # of each, the numbers of the jobs that run
        self.settled, self.limited = [], []  # at the first: the records of each job; the numbers of those at a limit
        for words in lines:
            half = Half(words, script, comment)
            half.look()  # the mark, before the agent changes it
            self.wait_for_turn(half)
            self.halves.append(half)

    @staticmethod
    def wait_for_turn(half):
        """Until Slurm has looked at it: of two jobs that it sees at once, it starts the one of higher priority first."""
        until = time.monotonic() + WAITS_S
        while half.accepted and not is_settled(half) and time.monotonic() < until:
            time.sleep(0.03)
            half.look()

    def running(self):
        for half in self.halves:
            half.look()
        return [n for n, half in enumerate(self.halves) if half.running()]

    def at_limit(self):
        return [n for n, half in enumerate(self.halves)
                if any(record["JobState"] == "PENDING" and LIMIT.match(record["Reason"]) for record in half.records)]

    def alike(self, stage):
        """What may not differ of the jobs that run: of those with the same priority and limits, Slurm starts any."""
        return sorted(self.halves[n].words[:4] for n in stage)

    def settle(self, expected):
        """Waits until such jobs run as in this stage; without one, as long as a start may take."""
        until = time.monotonic() + WAITS_S + (LATER_S if self.comment else 0)
        while (expected is None or self.alike(self.running()) != self.alike(expected) or not all(map(is_settled, self.halves))) and time.monotonic() < until:
            time.sleep(0.05)
        self.stages.append(self.running())

    def note_limits(self):
        """schedd must have no slots for a job at a limit; it may need a moment."""
        self.limited = self.at_limit()
        until = time.monotonic() + LATER_S
        for half in [self.halves[n] for n in self.limited if self.comment]:
            half.reserves = half.is_reserved()
            while half.reserves and time.monotonic() < until:
                time.sleep(0.05)
                half.look()
                half.reserves = half.is_reserved()

    def cancel_first(self):
        first = self.halves[self.stages[-1][0]].job
        call("scancel", first)
        until = time.monotonic() + 30
        while time.monotonic() < until and call("squeue", "-h", "-j", first, "-o", "%i")[1]:
            time.sleep(0.03)

    def run(self, expected):
        """Goes through the stages; expected: those of the same batch, or None. Then cancels all jobs."""
        for stage in range(STAGES):
            self.settle(expected[stage] if expected and stage < len(expected) else None)
            if stage == 0:
                self.settled = [half.records for half in self.halves]
                self.note_limits()
            if not self.stages[-1] or (expected and self.alike(self.stages[-1]) != self.alike(expected[stage])):
                break
            self.cancel_first()
        for half in self.halves:
            half.end()

    def placed(self):
        return [n for n, half in enumerate(self.halves) if half.placed()]


def differences(plain, asked):
    found = []
    for number, (half, other) in enumerate(zip(plain.halves, asked.halves)):
        half.records, other.records = plain.settled[number], asked.settled[number]
        found += ["job %d: %s" % (number, text) for text in compare(half, other)]
    return found


def judge_batch(lines, script, rng):
    """Returns the differences, whether they are of time only, and the jobs with the comment."""
    for _ in range(3):  # a start that is late once may be so by chance
        asked_first = rng.random() < 0.5
        first = Batch(lines, script, asked_first)
        first.run(None)
        second = Batch(lines, script, not asked_first)
        second.run(first.stages)
        plain, asked = (second, first) if asked_first else (first, second)
        found = differences(plain, asked)
        if found or list(map(plain.alike, plain.stages)) == list(map(asked.alike, asked.stages)):
            return found, False, asked
    return ["jobs that run, stage by stage: %s, with the comment %s" % (plain.stages, asked.stages)], True, asked


def main():
    options, script = begin()
    rng = random.Random(options.seed)
    others = Others(script, BINDING)
    red = jobs = 0
    placed, held, started = [], [], []
    for number in range(1, options.lines + 1):
        if number % 5 == 1:
            others.clear()
            print("# the other jobs use %.0f %% of the CPUs" % (100 * others.change(rng)), flush=True)
        lines = make_batch(rng)
        text = "; ".join(" ".join(words) for words in lines)
        if len(lines) == 1:
            found, timed, _ = judge(lines[0], script, random.Random(number))
        else:
            found, timed, asked = judge_batch(lines, script, random.Random(number))
            jobs += len(lines)
            placed += asked.placed()
            held += [n for n in asked.placed() if n in asked.limited]
            started += [n for n in asked.limited if any(n in stage for stage in asked.stages[1:])]
            text += " (placed: %s; at a limit: %s; run: %s)" % (asked.placed(), asked.limited, asked.stages)
        red += say(number, "sbatch " + text, found, timed)
    others.clear()
    numbers = (len(placed), jobs, len(held), len(started))
    few = ["too few"] if len(placed) * 5 < jobs or len(held) * 25 < jobs or len(started) * 15 < jobs else []
    red += say(options.lines + 1, "schedd placed %d of %d jobs; %d of these were at a limit; %d jobs left their limit" % numbers, few, True)
    print("1..%d" % (options.lines + 1))
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())
