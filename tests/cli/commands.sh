#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All commands alike: what they say when a disk is full, a file is bad, or a picture has an unknown suffix.
. "$(dirname "$0")/lib.sh"

# A command that cannot write its output fails.
header=src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
printf '%s\nh1,h2,10,20,30,0,100,1000\n' $header >"$scratch/mesh.csv"
echo 'p min 1 0' >"$scratch/net.dimacs"
echo '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r", "slots": 9}]}' >"$scratch/cluster.json"
for job in $(seq 30); do # more than stdio's buffer holds
	echo "{\"id\": \"job$job\", \"curve\": \"spark\", \"root\": 0, \"tasks\": 5}"
done >"$scratch/jobs.jsonl"
ln -s /dev/full "$scratch/full.svg"
to_full() { "$@" >/dev/full; }
for words in --help --version "mesh show $scratch/mesh.csv" "mesh --help" "mesh export $scratch/mesh.csv" "solve --help" \
	"solve $scratch/net.dimacs --json" "doctor --json" "sweep $source_root/lab/demo.plan --dry-run" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --json" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --dump-dimacs /dev/full" \
	"mesh merge $scratch/mesh.csv -o /dev/full" "mesh export $scratch/mesh.csv --json -o /dev/full" \
	"mesh show $scratch/mesh.csv --json" "mesh draw $scratch/mesh.csv -o $scratch/full.svg" \
	"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 -q -o /dev/full" \
	"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0" \
	"report --latency $scratch/mesh.csv -o /dev/full" \
	"fit $source_root/docs/sweeps/memcached-1.csv --quiet --json --metric queries_per_second"; do
	# shellcheck disable=SC2086
	refuses "a full disk: $words" 1 "error: .*(cannot write (to standard output|[^ ]*full[^ ]*): No space left)" to_full "$nomora" $words
done
# On a full disk, no file is left and the error is reported.
cat >"$scratch/full.plan" <<-END
	injector = $scratch/nobody.sock
	client = true
	metric = value 1 higher exit
	share-machine = yes
END
mkdir "$scratch/disk"
on_full_disk() {
	unshare -m sh -c 'mount -t tmpfs -o size=4k none "$0" && cd "$0" && head -c 4096 /dev/zero >fill && "$@"; code=$?
		[ "$(ls)" = fill ] || { ls -A; code=9; }; exit $code' "$scratch/disk" "$@"
}
if on_full_disk true 2>/dev/null; then
	for words in "sweep $scratch/full.plan -o out.csv" "mesh merge $scratch/mesh.csv -o out.csv" \
		"mesh draw $scratch/mesh.csv -o out.png" "mesh draw $scratch/mesh.csv -o out.svg" \
		"mesh export $scratch/mesh.csv -o out.json" "report --latency $scratch/mesh.csv -o out.html" \
		"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 -o out.json" \
		"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 --plot out.svg" \
		"fit $source_root/docs/sweeps/memcached-1.csv --expr 1/(1+x/k) --start k=10 -o out.json" \
		"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --dump-dimacs out.dimacs" \
		"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --draw out.dot"; do
		# shellcheck disable=SC2086
		refuses "no room for a file: ${words%% *} ${words##* }" 1 "error: .*out[^ ]*: (cannot write: )?No space left" on_full_disk "$nomora" $words
	done
else
	skip "no room for a file" "file systems cannot be mounted here"
fi

# For every command, a bad file gives exit code 1, a bad command line gives 2.
cp "$source_root/curves/spark.json" "$scratch/curve.json"
printf 'seed = 1\nseed = 2\n' >"$scratch/twice.config"
while IFS='|' read -r words good; do
	# shellcheck disable=SC2086
	for bad in $scratch/empty $scratch /no/such/file; do
		[ "$bad" != "$scratch/empty" ] || : >"$bad"
		refuses "a bad file: ${words//$scratch\//} $(basename "$bad")" 1 "error: .*$bad" "$nomora" $words "$bad" $good
	done
done <<-END
	fit|--quiet
	fit --compare|$scratch/curve.json
	fit --quiet --expr b*x --start b=1|
	solve|
	recover|
	dataflow plan|
	rtt|
	mesh show|
	mesh merge|
	mesh show $scratch/mesh.csv --cluster|
	inject-check|
	report -o $scratch/page.html --latency|
	report -o $scratch/page.html --curve|
	place -c|-j $scratch/jobs.jsonl -C $source_root/curves
	place -c $scratch/cluster.json -C $source_root/curves -l|-j $scratch/jobs.jsonl
	sweep -o $scratch/no.csv|
END
refuses "an option twice in a file" 1 'twice.config:2: seed: given in line 1 already' "$nomora" place --config "$scratch/twice.config"

# The suffix of a picture's name selects the format: an unknown one is a usage error, before any file is read.
while IFS='|' read -r words kinds; do
	for name in a.gif svg .svg a.svg.gz -; do
		# shellcheck disable=SC2086
		refuses "no picture: ${words%% -*} $name" 2 "found '$name', expected a name that ends in $kinds" "$nomora" $words $name
	done
done <<-'END'
	mesh draw no-such.csv -o|.svg or .png
	fit no-such.csv --plot|.svg or .png
	fit --compare no-such.json no-such.json --plot|.svg or .png
	place -c no-such.json -j no-such.jsonl -C no-such --draw|.dot or .json
END
printf '%s\n\033]0;title\007,h2,1,1,1,0,1,1\n' $header >"$scratch/escape.csv"
run "$nomora" mesh show "$scratch/escape.csv"
says "$err" 'escape.csv:2: ' && ! printf '%s' "$err" | grep -q "$(printf '\033')" &&
	pass "what a file holds does not drive the terminal" || fail "what a file holds does not drive the terminal" "$err"
plan
