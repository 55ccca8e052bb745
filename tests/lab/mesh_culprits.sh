#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A live mesh of 4 leaves, 4 spines and 8 hosts names the culprit of each of FAULTS injected faults (default 16; of
# seed SEED) within 3 windows, and accuses nobody in the MINUTES before (default 1). On demand: it needs a machine whose
# CPUs are not shared.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
[ -x "$bin/nomora-probe" ] || skip_all "built without DPDK"
command -v iptables-legacy >/dev/null || skip_all "needs iptables"
rows() { python3 - "$scratch/rows" <<'END'; }
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
for row in rows:
    if "accused" in row:
        good, text = not row["accused"], f"nobody is accused in {row['quiet_minutes']:g} minutes"
    else:
        good = row["windows"] is not None and not row["others"] and row["calm_windows"] is not None
        text = f"{row['kind']}: {row['fault']}: named after {row['windows']} windows"
    print("+" if good else "-", text, "" if good else "# " + json.dumps(row))
END
python3 "${0%/*}/faults/inject_faults.py" "$nomora" "$scratch" --faults "${FAULTS:-16}" --seed "${SEED:-1}" \
	--quiet-minutes "${MINUTES:-1}" >"$scratch/rows" 2>"$scratch/err" || fail "the faults were injected" "$(cat "$scratch/err")"
while read -r sign text; do
	[ "$sign" = + ] && pass "$text" || fail "${text%%#*}" "${text#*#}"
done < <(rows)
plan
