#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh serve in headless Chromium: the heat map is painted with the right values and colours, and an open page
# shows changed values without a reload. NOMORA_SCREENSHOTS=FOLDER keeps the pages as painted.
. "$(dirname "$0")/lib.sh"

for program in chromium python3; do
	command -v "$program" >/dev/null || skip_all "$program is not installed"
done
cat >"$scratch/cluster.json" <<'JSON'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h1", "rack": "r1", "slots": 1}, {"name": "h2", "rack": "r2", "slots": 1}, {"name": "h3", "rack": "r2", "slots": 1},
 {"name": "h10", "rack": "r10", "slots": 1}]}
JSON
live=$scratch/live
# rows TIME SRC,DST,P99...: puts rows of this age into the live matrix.
rows() {
	{ echo 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at'
		for row in "${@:2}"; do echo "${row%,*},1,${row##*,},200000,0,100,$1"; done; } >"$scratch/rows.csv"
	"$nomora" mesh merge "$scratch/rows.csv" --live "$live" --cluster "$scratch/cluster.json"
}
check "a live matrix" rows 1000 h2,h3,10 h1,h2,20 h1,h3,100 h3,h1,1000
"$nomora" mesh serve "$live" --port 0 --max-age 0 >"$scratch/url" 2>"$scratch/serve.err" &
at_exit kill -9 $!
wait_for 30 grep -q http "$scratch/url" || { fail "mesh serve listens" "$(cat "$scratch/serve.err")"; plan; exit; }
HOME=$scratch python3 "$(dirname "$0")/mesh_browser.py" "$(cat "$scratch/url")" "$scratch" >"$scratch/painted" 2>"$scratch/browser.err" &
browser=$!
at_exit kill "$browser"
# painted NAME CELLS: the open page shows these cells, and nothing else.
painted() {
	wait_for 60 grep -qxF "$2" "$scratch/painted" && pass "$1" || fail "$1" "wanted: $2" "$(cat "$scratch/painted")" "$(tail -n 20 "$scratch/browser.err")"
}
# Yellow, orange and red for the least, the middle and the largest of a logarithmic scale; grey = nothing measured.
painted "the worst pair of each two racks that have rows, and its colour" \
	'r1>r1 – #ffffff, r1>r2 100.0 #f5bf89, r2>r1 1000.0 #f58989, r2>r2 10.0 #f5f589'
check "a value changes, and another rack has a row" rows 1001 h1,h3,100000 h10,h1,50
painted "the open page shows both" \
	'r1>r1 – #ffffff, r1>r2 100000.0 #f58989, r1>r10 – #ffffff, r2>r1 1000.0 #f5bf89, r2>r2 10.0 #f5f589, r2>r10 – #ffffff, r10>r1 50.0 #f5e389, r10>r2 – #ffffff, r10>r10 – #ffffff'
kill "$browser"
wait "$browser"
[ "$(wc -l <"$scratch/painted")" -eq 2 ] && pass "nothing else was painted" || fail "nothing else was painted" "$(cat "$scratch/painted")"
[ -z "${NOMORA_SCREENSHOTS:-}" ] || cp "$scratch"/[0-9].png "$NOMORA_SCREENSHOTS"
plan
