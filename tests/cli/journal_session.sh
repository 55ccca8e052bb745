#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/journal.md: its commands, run unchanged with a real schedd, print what the page shows. Times differ from run to run, so
# areas may differ by a few points.
. "$(dirname "$0")/lib.sh"
for tool in jq awk; do command -v $tool >/dev/null || skip_all "needs $tool"; done
cd "$scratch" || exit 1
page=$source_root/docs/journal.md
awk '/^```/ { inside = !inside; on = inside && $0 == "```sh"; next } on' "$page" >session.sh
awk '/^```/ { inside = !inside; on = inside && $0 == "```"; next } on' "$page" >shown.txt
at_exit bash -c "kill -- -\$(cat $scratch/session) 2>/dev/null" # the session's processes, if it did not end them
PATH=$bin:$PATH setsid bash -c 'echo $$ >session; . ./session.sh' >printed.txt 2>errors.txt
check "the session runs" test $? -eq 0 -a -s recorded.jsonl
grep -v accepted printed.txt >tables.txt
words() { sed 's/ [-+]*[0-9][0-9.]*//g; s/ *$//' "$1"; }
check "it prints the page's tables" diff <(words shown.txt) <(words tables.txt)
# The differences of the areas: all tasks, the worst; of the first comparison and of the second.
gains() { awk '/area/ { print $(NF - 1) + 0 }' "$1"; }
check "its gains are the page's, within three points: $(gains tables.txt | paste -sd' ')" python3 -c '
import sys
shown, printed = ([float(x) for x in text.split()] for text in sys.argv[1:3])
assert len(shown) == len(printed) == 4, (shown, printed)
assert all(abs(a - b) < 3 for a, b in zip(shown, printed)), (shown, printed)
assert min(printed[:2]) > 0 and printed[2:] == [0, 0], printed' "$(gains shown.txt)" "$(gains tables.txt)"
plan
