#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pastes README's live session into a shell, line by line, as a reader does; with a name for the rack and other ports.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
lab=r$((BASHPID % 100000))
at_exit "$nomora" lab down --name "$lab"
mkdir -p "$scratch/try" "$scratch/lab"
cp -r "$source_root/curves" "$scratch/try"
cp "$source_root"/lab/demo-jobs.jsonl "$scratch/lab"
cd "$scratch/try" || exit 1
awk '/^## /{ shown = /^## A live rack/ } shown && /^```/{ code = !code; next } shown && code' "$source_root/README.md" |
	sed -e "s/nomora lab \(up\|down\|exec\)/& --name $lab/" -e "s/mesh serve mesh.live/& --port 0/" >session
check "README has a session of 15 lines or more" test "$(wc -l <session)" -ge 15

# Each command's status, in a shell with job control as a terminal has it.
{ echo 'set -m; trap '\''echo "$BASH_COMMAND" >>failed'\'' ERR'; cat session; } >pasted
PATH=$bin:$PATH timeout 120 bash pasted >answers 2>errors </dev/null
check "each command of it succeeds" sh -c 'touch failed; cat errors; ! grep -v "^wait" failed'
check "the mesh is measured" grep -q 'h1' answers
check "a task is explained" grep -q 'web/client1' answers
check "nothing is left" sh -c "! ls | grep -v '^answers\$\|^errors\$\|^failed\$\|^session\$\|^pasted\$\|^curves\$\|^cluster.json\$\|^peers.txt\$'"
check "and no rack" sh -c "! ip netns list | grep '^$lab-'"
plan
