#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh: merge, show, draw, export, and refusals.
. "$(dirname "$0")/lib.sh"

header=src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
printf '%s\nh1,h2,10,20,30,0,100,1000.5\nh1,h10,110,120,130,0.01,100,1000\n' $header >"$scratch/h1.csv"
printf '%s\nh2,h1,11,21,31,0,100,1000\nh2,h10,,,,1,0,1000\n' $header >"$scratch/h2.csv"
printf '%s\nh1,h2,5,6,7,0,10,2000\n' $header >"$scratch/later.csv"
printf '%s\nh1,h2,5,4,7,0,10,2000\n' $header >"$scratch/falling.csv"
cat >"$scratch/cluster.json" <<'JSON'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h10", "rack": "r1", "pod": "p", "slots": 1},
 {"name": "h1", "rack": "r2", "pod": "p", "slots": 1},
 {"name": "h2", "rack": "r2", "pod": "p", "slots": 1}]}
JSON

check "merge" "$nomora" mesh merge "$scratch/h1.csv" "$scratch/h2.csv" -o "$scratch/all.csv"
[ "$(grep -vc '^#' "$scratch/all.csv")" -eq 5 ] && head -1 "$scratch/all.csv" | grep -qx '# nomora.latency/4' && pass "all rows are there" || fail "all rows are there" "$(cat "$scratch/all.csv")"
run "$nomora" mesh merge "$scratch/all.csv"
[ "$out" = "$(cat "$scratch/all.csv")" ] && pass "merge of one file to stdout is that file" || fail "same" "$out"
run "$nomora" mesh merge "$scratch/h1.csv" "$scratch/later.csv"
says "$out" '^h1,h2,5.000,' && pass "the freshest wins" || fail "the freshest wins" "$out"
run "$nomora" mesh merge "$scratch/later.csv" "$scratch/h1.csv"
says "$out" '^h1,h2,5.000,' && pass "in any order" || fail "in any order" "$out"
run "$nomora" mesh merge --how worst "$scratch/later.csv" "$scratch/h1.csv"
says "$out" '^h1,h2,10.000,20.000,30.000,0,110,2000.000' && pass "the worst of both" || fail "worst" "$out"
refuses "a pair in two files" 1 'later.csv: .*h1 -> h2' "$nomora" mesh merge --how refuse "$scratch/h1.csv" \
	"$scratch/later.csv" -o "$scratch/none.csv"
[ ! -e "$scratch/none.csv" ] && pass "nothing half-written" || fail "nothing half-written"
refuses "a row that falls" 1 'falling.csv:2: rtt_p99_us: expected at least rtt_p50_us' \
	"$nomora" mesh show "$scratch/falling.csv"
refuses "no file" 1 'nowhere' "$nomora" mesh show "$scratch/nowhere"
refuses "no subcommand of that name" 2 "no command 'shwo'" "$nomora" mesh shwo
refuses "draw without a picture" 2 'missing option -o' "$nomora" mesh draw "$scratch/all.csv"

sed 's/^h2,h10.*/h2,h2,900,900,900,0,50,1000,measured,0,0,0,0,1000,0,0,,,0,0/' "$scratch/all.csv" >"$scratch/self.csv"
run "$nomora" mesh show "$scratch/self.csv" --json
check "a host's way to itself is no pair of the summary" python3 -c '
import json, sys
groups = json.loads(sys.argv[1])["summary"].values()
assert sum(g["pairs"] for g in groups) == 3 and max(g["max_us"] or 0 for g in groups) == 130, groups' "$out"
run "$nomora" mesh show "$scratch/all.csv" --cluster "$scratch/cluster.json"
if [ "$code" -eq 0 ] && [ "$(printf '%s\n' "$out" | sed -n 2p | tr -s ' ')" = " h10 h1 h2" ] &&
	says "$out" ', 1 pair without an answer'; then
	pass "shown in the order of racks"
else
	fail "shown in the order of racks" "$out"
fi
run "$nomora" mesh show "$scratch/all.csv" --stat loss
says "$out" '0.0100' && pass "another figure" || fail "another figure" "$out"
for figure in p50:10.0 p99:20.0 max:30.0; do
	run "$nomora" mesh show "$scratch/h1.csv" --stat ${figure%:*}
	says "$out" "^ *h1 .* ${figure#*:} " && pass "--stat ${figure%:*}" || fail "--stat ${figure%:*}" "$out"
done
run "$nomora" mesh show "$scratch/all.csv" --cluster "$scratch/cluster.json"
says "$out" '^same rack *2 pairs: p50 10.5 us, p99 20.5 us \(medians\), worst 31.0 us, loss 0 %' &&
	pass "medians of an even number of pairs" || fail "medians of an even number of pairs" "$out"
printf '%s\nh1,h2,,,,1,0,1\nx,h1,5,6,7,0,9,1\n' $header >"$scratch/silent.csv"
run "$nomora" mesh show "$scratch/silent.csv" --cluster "$scratch/cluster.json"
if says "$out" '^same rack *1 pairs: loss 100 %' && says "$out" '^rack unknown *1 pairs: p50 5.0'; then
	pass "pairs without an answer have no median, hosts outside of the cluster no rack"
else
	fail "pairs without an answer have no median, hosts outside of the cluster no rack" "$out"
fi
check "a heat map" "$nomora" mesh draw "$scratch/all.csv" --cluster "$scratch/cluster.json" -o "$scratch/a.svg"
grep -q '<svg' "$scratch/a.svg" && pass "is an SVG" || fail "is an SVG"
# Loss is drawn in percent on a linear scale that ends at 1 % or more: the colours of its two ends identify the cells.
least='rgb(26.7%,0.5%,32.9%)' most='rgb(99.3%,90.6%,14.4%)'
for loss in 0.5:yes 0.01:yes 0.005:no; do
	printf '%s\nh1,h2,1,2,3,%s,9,1\nh2,h1,1,2,3,0,9,1\n' $header "${loss%:*}" >"$scratch/loss.csv"
	"$nomora" mesh draw "$scratch/loss.csv" --stat loss -o "$scratch/loss.svg"
	seen=no
	grep -qF "$most" "$scratch/loss.svg" && seen=yes
	[ "$seen" = "${loss#*:}" ] && grep -qF "$least" "$scratch/loss.svg" && pass "a loss of ${loss%:*} and none, in colours" ||
		fail "a loss of ${loss%:*} and none, in colours" "most: $seen"
done
run "$nomora" mesh export "$scratch/all.csv" --format table
[ "$(printf '%s\n' "$out" | sed -n 2p)" = "h1,,10,110" ] && pass "a square table" || fail "a square table" "$out"
if command -v jq >/dev/null; then
	run "$nomora" mesh export "$scratch/all.csv" --cluster "$scratch/cluster.json" --json
	printf '%s' "$out" | jq -e '.schema == "nomora.mesh/1" and (.pairs | length == 4) and .summary.same_rack.pairs == 2
		and .summary.other_rack.silent == 1 and .pairs[3].rtt_p50_us == null' >/dev/null &&
		pass "JSON" || fail "JSON" "$out"
fi
# A live matrix: rows put into shared memory are visible to every command that reads a matrix, and can be served.
live=$scratch/live
check "rows go into a live matrix" "$nomora" mesh merge "$scratch/h1.csv" "$scratch/h2.csv" --live "$live" --cluster "$scratch/cluster.json"
run "$nomora" mesh merge "$live"
[ "$(printf '%s\n' "$out" | grep -vc '^#')" -eq 5 ] && [ "$(printf '%s' "$out" | sort)" = "$(sort "$scratch/all.csv")" ] &&
	pass "its snapshot is the rows" || fail "its snapshot is the rows" "$out"
run "$nomora" mesh top "$live" --once --max-age 0
[ "$code" -eq 0 ] && says "$out" '3 hosts, 4 pairs: 3 measured, 1 unreachable' && pass "top counts the states" ||
	fail "top counts the states" "$out" "$err"
run "$nomora" mesh top "$live" --json
says "$out" '"stale": 4' && pass "pairs of 1970 are stale" || fail "pairs of 1970 are stale" "$out" "$err"
check "newer rows go on top" "$nomora" mesh merge "$scratch/later.csv" --live "$live"
run "$nomora" mesh show "$live" --json
says "$out" '"rtt_p50_us": 5.0' && says "$out" '"state": "unreachable"' && pass "and are shown" || fail "and are shown" "$out" "$err"
refuses "top of a CSV file" 1 "expected a live matrix" "$nomora" mesh top "$scratch/all.csv"
refuses "top of no file" 1 'nowhere: cannot open' "$nomora" mesh top "$scratch/nowhere"
# Files that are not a live matrix of this version, or are truncated.
head -c 5000 "$live" >"$scratch/cut"
{ printf NOMORAL2; tail -c +9 "$live"; } >"$scratch/older"
{ cat "$live"; echo; } >"$scratch/longer"
{ head -c 40 "$live"; printf '\377\377\377\177'; tail -c +45 "$live"; } >"$scratch/counts"
: >"$scratch/empty"
while read -r file words; do
	refuses "$file is no live matrix to read" 1 "$file: .*$words" "$nomora" mesh top "$scratch/$file"
	refuses "nor to write" 1 "$file: .*$words" "$nomora" mesh merge "$scratch/h1.csv" --live "$scratch/$file"
done <<-END
	cut size
	older another file or version
	longer size
	counts damaged
	empty found a file of only 0 bytes
END
if mkdir "$scratch/small" && mount -t tmpfs -o size=1m none "$scratch/small" 2>/dev/null; then
	at_exit umount -l "$scratch/small"
	refuses "no live matrix on a small disk" 1 'small/live.*No space left' "$nomora" mesh merge "$scratch/h1.csv" --live "$scratch/small/live"
	[ -z "$(ls "$scratch/small")" ] && pass "and no half of one" || fail "and no half of one" "$(ls -l "$scratch/small")"
	# The file is sparse: a thousandth of it is in use.
	mount -o remount,size=100m "$scratch/small"
	check "a live matrix" "$nomora" mesh merge "$scratch/h1.csv" --live "$scratch/small/live"
	dd if=/dev/zero of="$scratch/small/fill" bs=64k 2>/dev/null
	many() { awk -v hosts="$1" 'BEGIN { print "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
		for (i = 1; i <= 66; i++) for (j = 1; j <= hosts; j++) print "h" i ",h" j ",1,2,3,0,10,1700000000" }' >"$scratch/many.csv"; }
	many 66
	refuses "a disk that is full by now" 1 'No space left' "$nomora" mesh merge "$scratch/many.csv" --live "$scratch/small/live"
	check "and the matrix is whole" "$nomora" mesh top "$scratch/small/live" --once --max-age 0
	rm "$scratch/small/fill"
	check "with space again it takes them" "$nomora" mesh merge "$scratch/many.csv" --live "$scratch/small/live"
	many 120
	refuses "more hosts than it was made for" 1 'full: .* hosts' "$nomora" mesh merge "$scratch/many.csv" --live "$scratch/small/live"
else
	skip "a full disk" "file systems cannot be mounted here"
fi
if command -v curl >/dev/null; then
	"$nomora" mesh serve "$live" --port 0 --max-age 0 >"$scratch/url" 2>"$scratch/serve.err" &
	server=$!
	at_exit kill "$server"
	wait_for 10 grep -q http "$scratch/url"
	url=$(cat "$scratch/url")
	metrics=$(curl -s "${url}metrics")
	[ "$(printf '%s\n' "$metrics" | tail -1)" = "# EOF" ] && says "$metrics" '^nomora_mesh_pairs\{state="unreachable"\} 1$' &&
		says "$metrics" '^nomora_mesh_rack_rtt_seconds\{from="r2",to="r1",stat="max"\} 0.00013$' &&
		says "$metrics" '^nomora_mesh_rtt_seconds\{src="h1",dst="h2"\} 6e-06$' &&
		pass "metrics have states, racks and pairs" || fail "metrics have states, racks and pairs" "$metrics"
	if command -v promtool >/dev/null; then
		check "promtool finds nothing in the metrics" sh -c "curl -s '${url}metrics' | sed '/^# EOF/d; /^# UNIT/d' | promtool check metrics"
	fi
	curl -s "$url" | grep -q 'Worst pairs.*h1.*h10' && pass "the page has the worst pairs" || fail "the page has the worst pairs" "$(curl -s "$url")"
	curl -s "${url}racks?from=r2&to=r1" | grep -q '>unreachable' && pass "a page for two racks" || fail "a page for two racks"
	# Hosts, racks and pods in another order are shown in natural order.
	ordered=$scratch/ordered
	{
		echo 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at'
		for a in 110 12 21 13; do for b in 110 12 21 13; do [ "$a" = "$b" ] || echo "h$a,h$b,1,2,3,0,1,1700000000"; done; done
	} >"$ordered.csv"
	python3 -c 'import json
hosts = {"h110": ("r1", "p2"), "h13": ("r1", "p2"), "h12": ("r10", "p2"), "h21": ("r2", "p10")}
print(json.dumps({"schema": "nomora.cluster/1", "racks": [{"name": r, "pod": p} for r, p in sorted(set(hosts.values()), reverse=True)],
                  "machines": [{"name": h, "rack": r, "slots": 1} for h, (r, p) in hosts.items()]}))' >"$ordered.json"
	check "a mesh in another order" "$nomora" mesh merge "$ordered.csv" --live "$ordered" --cluster "$ordered.json"
	"$nomora" mesh serve "$ordered" --port 0 --max-age 0 >"$scratch/url2" 2>"$scratch/serve2.err" &
	at_exit kill "$!"
	wait_for 10 grep -q http "$scratch/url2"
	order=$(curl -s "$(cat "$scratch/url2")" | grep -oE '<th>r[0-9]+' | head -3 | tr -d '\n')
	[ "$order" = '<th>r1<th>r2<th>r10' ] && pass "racks as people count" || fail "racks as people count" "$order"
	order=$(curl -s "$(cat "$scratch/url2")racks?from=r1&to=r1" | grep -oE '>h[0-9]+</a>' | tr -d '\n')
	[ "$order" = '>h13</a>>h110</a>' ] && pass "hosts as people count" || fail "hosts as people count" "$order"
	curl -s "${url}racks?from=%3Cb%3E&to=r1" | grep -q '&lt;b&gt;' && pass "names are escaped" || fail "names are escaped"
	[ "$(curl -s -o "$scratch/none" -w '%{http_code}' "${url}none")" = 404 ] && pass "other pages are 404" || fail "other pages are 404"
	kill "$server"
	wait "$server" && pass "SIGTERM ends the server cleanly" || fail "SIGTERM ends the server cleanly" "$(cat "$scratch/serve.err")"
fi
# A host that answered last 90 s ago, and that probers still see, is unreachable, not stale. Old rows are good news for nobody.
now=$(date +%s)
seen=$header,state,paths,paths_covered,disturbed,error_us,answered_at
printf '%s\nh1,h3,,,,1,0,%s,unreachable,0,0,0,0,%s\nh2,h3,,,,1,0,%s,unreachable,0,0,0,0,%s\n' $seen "$now" $((now - 90)) "$now" $((now - 90)) >"$scratch/dead.csv"
"$nomora" mesh merge "$scratch/dead.csv" --live "$scratch/dead"
run "$nomora" mesh top "$scratch/dead" --once
says "$out" '2 unreachable' && says "$out" 'lost: h3' && pass "a dead host stays unreachable" || fail "a dead host stays unreachable" "$out"
printf '%s\nh1,h2,1,2,3,0,100,%s\nh1,h3,,,,1,0,%s\nh2,h3,,,,1,0,%s\n' $header $((now - 300)) $((now - 300)) $((now - 300)) >"$scratch/blind.csv"
"$nomora" mesh merge "$scratch/blind.csv" --live "$scratch/blind" --cluster "$scratch/cluster.json"
run "$nomora" mesh top "$scratch/blind" --once
printf '%s\n' "$out" | head -1 | grep -q 'BLIND: no pair was seen for 30. s' && pass "a blind mesh says so first" || fail "a blind mesh says so first" "$out"
printf '%s\nh1,h2,1,2,3,0,100,%s\n' $header $((now - 35)) >"$scratch/going.csv"
"$nomora" mesh merge "$scratch/going.csv" --live "$scratch/going"
run "$nomora" mesh top "$scratch/going" --once --max-age 60
says "$out" '^BLIND' && says "$out" ' 0 measured.* 1 stale' && pass "after half the time of --max-age" || fail "after half the time of --max-age" "$out"
run "$nomora" mesh top "$scratch/going" --once --max-age 600
says "$out" '^BLIND' && fail "but not before" "$out" || pass "but not before"
if command -v curl >/dev/null; then
	"$nomora" mesh serve "$scratch/blind" --port 0 >"$scratch/url3" 2>"$scratch/serve3.err" &
	at_exit kill "$!"
	wait_for 10 grep -q http "$scratch/url3"
	out=$(curl -s "$(cat "$scratch/url3")")
	says "$out" 'class="bad">The mesh is blind' && ! says "$out" 'No pair is bad|class="heat"' && pass "so does its page, without colours" || fail "so does its page" "$out"
	out=$(curl -s "$(cat "$scratch/url3")metrics")
	says "$out" '^nomora_mesh_blind 1' && ! says "$out" '^nomora_mesh_rack_rtt|^nomora_mesh_rtt' && pass "so do its metrics, without old figures" || fail "so do its metrics" "$out"
fi
plan
