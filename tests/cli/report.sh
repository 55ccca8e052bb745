#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora report: a page from real files of the other commands, and one clear line for each bad one.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cat >cluster.json <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
  {"name": "h1", "rack": "<r1>", "slots": 2}, {"name": "h2", "rack": "<r1>", "slots": 2}, {"name": "h3", "rack": "r2", "slots": 2}]}
TEXT
cat >jobs.jsonl <<'TEXT'
{"id": "web & co", "curve": "memcached", "root": "server", "tasks": ["server", "c1", "c2"]}
TEXT
cat >latency.csv <<'TEXT'
src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
h1,h2,10,12,20,0,100,1795188663.25
h1,h3,410,412,420,0,100,1795188663.25
h2,h3,,,,1,0,1795188663.25
TEXT
cat >sweep.csv.log <<'TEXT'
{"event":"plan","fingerprint":"x"}
{"event":"attempt","delay_us":0,"run":0,"attempt":1,"disturbed":true,"elapsed_s":1,"rtt_us":99,"rtt_expected_us":20,"injector":{"packets":100,"dropped":0,"disturbed":90,"stalls":5,"stall_us":500000}}
{"event":"attempt","delay_us":0,"run":0,"attempt":2,"disturbed":false,"elapsed_s":1,"rtt_us":21,"rtt_expected_us":20,"injector":{"packets":1000,"dropped":0,"disturbed":3,"stalls":2,"stall_us":100}}
{"event":"accepted","delay_us":0,"run":0,"attempt":2,"disturbed":false}
{"event":"atte
{"event":"attempt","delay_us":50,"run":0,"attempt":1,"disturbed":true,"elapsed_s":1,"rtt_us":400,"rtt_expected_us":120,"injector":{"packets":500,"dropped":0,"disturbed":100,"stalls":9,"stall_us":300000}}
{"event":"accepted","delay_us":50,"run":0,"attempt":1,"disturbed":true}
TEXT
check "nomora place makes the placement" sh -c "'$nomora' place --cluster cluster.json --jobs jobs.jsonl --latency latency.csv \
	--curves '$source_root/curves' --json >place.json"
"$nomora" doctor --json >doctor.json
"$nomora" mesh draw latency.csv --cluster cluster.json -o mesh.svg
printf '2\tnomora sweep\tthe sweep\n' >steps.tsv
all=(--curve "$source_root/curves/memcached.json" --sweep-log sweep.csv.log --latency latency.csv --mesh-plot mesh.svg
	--cluster cluster.json --placement place.json --random place.json --doctor doctor.json --steps steps.tsv)
check "a page from all of them" "$nomora" report "${all[@]}" -o report.html
has() { grep -qF -- "$1" report.html; }
check "the curve's equation" has "1.067"
check "ping agreed at 0 us by the attempt that counts" has 'as injected'
check "a disturbed run is called so" has "1 of the 2 runs were disturbed"
check "one attempt was repeated" has "1 attempts failed a gate"
check "the picture is inside" has "data:image/svg+xml;base64,"
check "names are escaped" has "web &amp; co"
check "and do not come raw" sh -c '! grep -qF "<r1>" report.html'
check "the round trip between racks" has "410.0"
check "a silent pair is loss" has '<td class="n">100</td><td class="n">1</td><td class="n">50</td></tr>'
check "nothing is loaded from elsewhere" sh -c '! grep -qE "(src|href)=\"(https?:)?//" report.html'
check "a page of nothing is still a page" "$nomora" report -o empty.html
rm -f out.html
refuses "no output named" 2 "give -o" "$nomora" report
refuses "a log without runs" 1 "steps.tsv: no accepted run" "$nomora" report --sweep-log steps.tsv -o out.html
refuses "a placement that is none" 1 "doctor.json: schema: found 'nomora.doctor/1'" "$nomora" report --placement doctor.json -o out.html
refuses "a picture that is not there" 1 "absent.svg" "$nomora" report --mesh-plot absent.svg -o out.html
refuses "steps without tabs" 1 "jobs.jsonl:1: expected three fields" "$nomora" report --steps jobs.jsonl -o out.html
refuses "injector statistics cut in half" 1 "half.json:" sh -c "head -c 60 place.json >half.json; '$nomora' report --injector half.json -o out.html"
check "none of these left a page" sh -c '! ls out.html* 2>/dev/null'
plan
