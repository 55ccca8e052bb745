#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora report: a page from real files of the other commands, and one clear message for each bad file.
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
# The first attempt was stopped (in the words of older logs), or found the injector restarted.
cat >sweep.csv.log <<'TEXT'
{"event":"plan","fingerprint":"x"}
{"event":"attempt","delay_us":0,"run":0,"attempt":1,"disturbed":true,"elapsed_s":1,"rtt_us":99,"rtt_expected_us":20,"injector":{"packets":-100,"dropped":0,"disturbed":-90,"stalls":-5,"stall_us":-500000}}
{"event":"attempt","delay_us":0,"run":0,"attempt":2,"disturbed":false,"elapsed_s":1,"rtt_us":21,"rtt_expected_us":20,"injector":{"packets":1000,"dropped":0,"disturbed":3,"stalls":2,"stall_us":2000}}
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
check "a disturbed run is called so" has "<b>Do not publish this curve.</b> 1 of 2 runs disturbed"
check "one attempt was repeated" has "1 attempts failed a check"
check "an older log does not tell of processors" sh -c "! grep -q '[0-9] of [0-9]</td>' report.html"
sed '/"delay_us":50/s/"elapsed_s":1/&,"processors":1,"processors_used":0.784/' sweep.csv.log >used.csv.log
"$nomora" report --sweep-log used.csv.log -o used.html
check "a newer one does, where the attempt that counts has it" sh -c "grep -c '[0-9] of [0-9]</td>' used.html | grep -qx 1 && grep -qF '>0.78 of 1</td>' used.html"
check "an older log's injector has one thread" has "It stalled 11 times, 15.10&nbsp;% of the time, not counting its own transmit calls."
sed 's/"stall_us":300000/"stall_us":700000,"transmit_stall_us":100000,"lcores":2/' sweep.csv.log >threads.csv.log
"$nomora" report --sweep-log threads.csv.log -o threads.html
check "two threads' stalls are of twice the time, as sweep judges them" grep -qF '11 times, 15.10&nbsp;% of the time on average of its 2 threads (none of them over 30.10&nbsp;%), not counting' threads.html
sed 's/"stall_us":300000/"stall_us":1900000,"lcores":2/' sweep.csv.log >stalled.csv.log
"$nomora" report --sweep-log stalled.csv.log -o stalled.html
check "and no thread stalled for longer than a run" grep -qF '47.60&nbsp;% of the time on average of its 2 threads (none of them over 50.10&nbsp;%)' stalled.html
check "the picture is inside" has "data:image/svg+xml;base64,"
check "names are escaped" has "web &amp; co"
check "and do not come raw" sh -c '! grep -qF "<r1>" report.html'
check "the round trip between racks" has "410.0"
check "a silent pair is loss" has '<td class="n">100</td><td class="n">1</td><td class="n">50</td></tr>'
check "the curve is drawn into the page, its texts as text" has '>performance relative to the baseline</text>'
check "with a title for those who cannot see it" has '<title>memcached</title>'
check "dark mode" has '@media(prefers-color-scheme:dark)'
check "tables say that they scroll" has 'scroll sideways'
"$nomora" report --curve "$source_root/curves/memcached.json" --curve "$source_root/curves/spark.json" -o two.html
check "two curves are both on the page" sh -c "grep -q '<h3>memcached</h3>' two.html && grep -q '<h3>spark</h3>' two.html &&
	grep -q 'spark keeps' two.html && grep -q '>spark</text>' two.html"
python3 - <<'END'
import json
machines = [{"name": "m%d" % i, "rack": "r%d" % (i // 5), "slots": 4} for i in range(20)]
json.dump({"schema": "nomora.cluster/1", "machines": machines}, open("big.json", "w"))
with open("big.jsonl", "w") as jobs:
    for i in range(20):
        print(json.dumps({"id": "job%02d" % i, "curve": "memcached", "root": "s", "tasks": ["s", "c1", "c2"]}), file=jobs)
END
"$nomora" place --cluster big.json --jobs big.jsonl --curves "$source_root/curves" --json >big.place.json
"$nomora" report --placement big.place.json --cluster big.json -o big.html
check "twenty jobs have twenty colours" sh -c \
	"test \$(grep -o 'slot used[^>]*background:[^\"]*' big.html | sed 's/.*background://' | sort -u | wc -l) -eq 20"
"$nomora" report --placement big.place.json --summary -o summary.html
check "--summary has a line per job" sh -c "
	test \$(grep -c '<tr><td>job' summary.html) -eq 20 && test \$(grep -c '<tr><td>job' big.html) -eq 60"
check "nothing is loaded from elsewhere" sh -c '! grep -qE "(src|href)=\"(https?:)?//" report.html'
injector() { # LATENESS_P50_NS LATENESS_P99_NS
	printf '{"schema": "nomora.inject/1", "delay_ab_us": 200, "delay_ba_us": 200, "uptime_s": 10, "stall_us_total": 500000,
"disturbed": 90, "tx_ab": 50, "tx_ba": 50, "lateness_p50_ns": %d, "lateness_p99_ns": %d}\n' "$1" "$2" >injector.json
	"$nomora" report --injector injector.json -o report.html
}
injector 180 1900
check "an injector in time, though most packets met a stall" has "99&nbsp;% within 1.9&nbsp;µs"
check "gets no tag" sh -c '! grep -q "class=\"tag" report.html'
check "its stalls are of the time that it ran" has "it stalled 5.00&nbsp;% of the time, not counting its own transmit calls, and 90.0"
sed -i 's/"uptime_s"/"lcores": 2, "stall_us_in_transmit": 100000, &/' injector.json
"$nomora" report --injector injector.json -o report.html
check "two threads' of the time of two" has "it stalled 2.00&nbsp;% of the time on average of its 2 threads (none of them over 4.00&nbsp;%), not counting"
injector 180 61000
check "late packets spoil the percentiles" has "their p99 and worst show this machine's stalls"
injector 21000 61000
check "and the medians, where most are late" has "That is too late"
injector 180 1900
"$nomora" report --injector injector.json --latency latency.csv --cluster cluster.json -o report.html
check "a mesh that shows the injected delay gets no tag" sh -c '! grep -q "class=\"tag" report.html'
sed 's/^h1,h3,410,412,420/h1,h3,4610,4612,4620/' latency.csv >waited.csv
"$nomora" report --injector injector.json --latency waited.csv --cluster cluster.json -o report.html
check "one whose packets waited elsewhere is told by how much" has "median between the racks is off by +4200&nbsp;µs"
sed -i 's/"delay_ab_us": 200/"delay_ab_us": 900/' injector.json
"$nomora" report --injector injector.json --latency latency.csv --cluster cluster.json -o report.html
check "one that is faster than what was injected is another one's" has "is off by -700&nbsp;µs: this injector had another delay"
injector 180 1900
"$nomora" report --injector injector.json --latency waited.csv -o report.html
check "but not where the racks are unknown" sh -c '! grep -q "class=\"tag" report.html'
"$nomora" report --curve "$source_root/curves/memcached.json" -o report.html
check "a curve without runs has no table of them" sh -c '! grep -q "<table>" report.html'
python3 -c 'import json, sys
curve = json.load(sys.stdin)
curve["baseline"] = {}
curve["levels"] = [{"x_us": 0, "measured": 1, "deviation": None, "runs": 1, "outliers": 0, "fitted": 1, "residual": 0}]
json.dump(curve, sys.stdout)' <"$source_root/curves/memcached.json" >once.json
"$nomora" report --curve once.json -o report.html
check "one run at a delay: no deviation, and no baseline is no figure" sh -c '! grep -qw nan report.html && grep -qF "<td class=\"n\">–</td>" report.html'
# A page that contains its sweep, and what could be wrong with such a page.
printf 'delay_us,direction,run,metric,unit,better,value\n0,both,0,rate </script>,1/s,higher,50\n50,both,0,rate </script>,1/s,higher,40\n' >sweep.csv
check "a page with a sweep whose log has no plan" "$nomora" report --sweep sweep.csv --curve "$source_root/curves/memcached.json" -o within.html
check "a text cannot end the script" sh -c "test \$(grep -c '</script>' within.html) -eq 1"
check "its files come out byte for byte" sh -c "'$nomora' report --extract within.html -o files >list && cmp sweep.csv files/sweep.csv &&
	cmp sweep.csv.log files/sweep.csv.log && cmp '$source_root/curves/memcached.json' files/memcached.json && test \$(ls files | wc -l) -eq 3"
check "they are listed" cmp list - <<<'files/sweep.csv
files/sweep.csv.log
files/memcached.json'
echo changed >files/memcached.json && rm files/sweep.csv
refuses "a folder that has one of the files" 1 'files/sweep.csv.log: exists already' "$nomora" report --extract within.html -o files
check "is left as it was" sh -c "test ! -e files/sweep.csv && grep -qx changed files/memcached.json"
refuses "a page without a sweep" 1 'two.html: no files in it; expected a page of nomora report' "$nomora" report --extract two.html -o none
page() { printf '<script type="application/json" id="nomora-page">%s</script>' "$1" >bad.html; }
page '{"schema": "nomora.page/1", "files": [{"name": "a.csv", "text": ""}, {"name": "../b.csv", "text": ""}]}'
refuses "a name that leads out of the folder" 1 "bad.html: files.name: found '../b.csv', expected the name of a file" "$nomora" report --extract bad.html -o none
page '{"schema": "nomora.page/1", "files": [{"name": ".profile", "text": ""}]}'
refuses "a hidden file" 1 "found '.profile'" "$nomora" report --extract bad.html -o none
page '{"schema": "nomora.page/1", "files": [{"name": "a", "text": "1"}, {"name": "a", "text": "2"}]}'
refuses "a name twice" 1 "duplicate name 'a'" "$nomora" report --extract bad.html -o none
page '{"schema": "nomora.page/1", "files": [{"name": "a"}]}'
refuses "a file without a text" 1 'files.text: expected a string' "$nomora" report --extract bad.html -o none
page '{"schema": "nomora.page/2", "files": []}'
refuses "a page of another version" 1 "schema: found 'nomora.page/2'" "$nomora" report --extract bad.html -o none
page '{"schema": "nomora.page/1", "fil'
refuses "a page cut off" 1 'bad.html:' "$nomora" report --extract bad.html -o none
check "none of them leaves a folder" test ! -e none
printf 'a\377' >latin.txt && mkdir same && cp sweep.csv same/sweep.csv
refuses "a file that is no UTF-8" 1 'latin.txt: expected a text in UTF-8' "$nomora" report --sweep sweep.csv --attach latin.txt -o none.html
refuses "two files of one name" 1 'same/sweep.csv: the page already has a file of this name' "$nomora" report --sweep sweep.csv --attach same/sweep.csv -o none.html
refuses "a sweep without its log" 1 'same/sweep.csv.log' "$nomora" report --sweep same/sweep.csv -o none.html
refuses "--extract with an input" 2 'mutually exclusive' "$nomora" report --extract within.html --sweep sweep.csv -o none
refuses "--attach without a sweep" 2 '--attach needs --sweep' "$nomora" report --attach sweep.csv --curve once.json -o none.html
check "no page is left" sh -c '! ls none.html* 2>/dev/null'
refuses "a page of nothing" 2 "no input: expected at least one of --curve" "$nomora" report -o empty.html
check "and none is written" test ! -e empty.html
rm -f out.html
refuses "no output named" 2 "missing option -o" "$nomora" report
refuses "a log without runs" 1 "steps.tsv: no accepted run" "$nomora" report --sweep-log steps.tsv -o out.html
refuses "a placement that is none" 1 "doctor.json: schema: found 'nomora.doctor/1'" "$nomora" report --placement doctor.json -o out.html
refuses "a picture that is not there" 1 "absent.svg" "$nomora" report --mesh-plot absent.svg -o out.html
refuses "steps without tabs" 1 "jobs.jsonl:1: expected three fields" "$nomora" report --steps jobs.jsonl -o out.html
printf 'NaN\tnomora\twhy\n' >nan.tsv
refuses "a step that took no number of seconds" 1 "nan.tsv:1: seconds: found 'NaN'" "$nomora" report --steps nan.tsv -o out.html
refuses "injector statistics cut in half" 1 "half.json:" sh -c "head -c 60 place.json >half.json; '$nomora' report --injector half.json -o out.html"
check "none of these left a page" sh -c '! ls out.html* 2>/dev/null'
plan
