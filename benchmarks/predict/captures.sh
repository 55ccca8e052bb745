#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The curve that `nomora predict` finds in a capture of one run, against a sweep by the injector, for the shipped plans
# of request-response applications. Client, server and tcpdump share one CPU, so the capture is made at a delay of 20 us
# per direction, and performance is relative to the runs at that delay. Needs root and a quiet machine. One line of JSON
# per application; exit 1 if runs were disturbed.
#
#   captures.sh NOMORA [APPLICATION...]
set -u
nomora=$(realpath "$1")
plans=$(realpath "$(dirname "$0")/../../injector/sweep/profiles")
shift
declare -A ports=([redis]=6379 [memcached]=11211 [nginx]=8080 [pgbench]=5432)
[ $# -gt 0 ] || set -- "${!ports[@]}"
PATH=$(dirname "$nomora"):$PATH
scratch=$(mktemp -d)
chmod 755 "$scratch" # tcpdump writes as a user of its own
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
result=0
sweep() { nomora sweep "$plans/$application.plan" --any-delays --reference-every 0 "$@"; }

for application; do
	rm -rf ./*
	client=$(sed -n 's/^client = //p' "$plans/$application.plan")
	capture="tcpdump -i any -s 96 -B 65536 -U -w $scratch/capture.pcap port ${ports[$application]} 2>$scratch/tcpdump.log & t=\$!;
		until grep -q listening $scratch/tcpdump.log; do sleep 0.02; done; $client; c=\$?; kill -INT \$t; wait \$t; exit \$c"
	if ! { sweep -o sweep.csv --delays "20 50 100 200 500" &&
		sweep -o capture.csv --delays 20 --repetitions 1 --precision-percent 0 --client "${capture//$'\n'/ }"; } >sweep.log 2>&1; then
		tail -3 sweep.log >&2
		result=1
	fi
	[ -e capture.pcap ] || continue
	python3 - <<'PYTHON'
import csv
rows = list(csv.DictReader(open("sweep.csv")))
with open("shifted.csv", "w") as file:
    out = csv.DictWriter(file, rows[0])
    out.writeheader()
    out.writerows({**row, "delay_us": float(row["delay_us"]) - 20} for row in rows)
PYTHON
	nomora predict --json --measured shifted.csv capture.pcap | python3 -c '
import json, sys
check = json.load(sys.stdin)["check"]
print(json.dumps({"benchmark": "captures", "application": sys.argv[1], "median_error": check["median_error"],
                  "worst_error": check["worst_error"], "levels": check["levels"]}))' "$application" || result=1
done
exit $result
