#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora local-agent --flows: what the tasks of a job send to each other decides where a lost one goes, though no flow is stated.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-flows.XXXXXX) # the path of a unix socket must be short
at_exit rm -rf "$dir"
cd "$dir" || exit 1
export NOMORA_SCHEDD=$dir/socket
start() { "$@" 2>>log </dev/null & at_exit kill -9 $!; started=$!; }
end_tasks() { local pid; for pid in $(cat agent/*/runs/*/pid 2>/dev/null | cut -d' ' -f1); do kill -9 -- "-$pid"; done; }
at_exit end_tasks
soon() { local name=$1; shift; if wait_for 60 "$@"; then pass "$name"; else fail "$name" "$(tail -n 30 log)" "$("$nomora" jobs; cat forecast.json)"; fi; }

# The root receives from t1 through an IPv6 socket, over several connections; then both stay.
cat >task.py <<'END'
import os, socket, time
if os.environ["NOMORA_TASK"] == "t0":
    server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    with open("port.new", "w") as file:
        print(server.getsockname()[1], file=file)
    os.rename("port.new", "port")
    kept = []
    while True:
        kept.append(server.accept()[0])
        left = 2500000
        while left > 0:
            left -= len(kept[-1].recv(1 << 16))
else:
    while not os.path.exists("port"):
        time.sleep(0.02)
    kept = []
    for n in range(4):
        kept.append(socket.create_connection(("127.0.0.1", int(open("port").read()))))
        kept[-1].sendall(bytes(2500000))
    time.sleep(1000)
END
servers=
for m in 0 1 2 3; do
	printf '{"name": "n%d", "slots": %d}\n' $m $((m == 0 ? 1 : 2)) >>machines
	servers+="${servers:+, }{\"name\": \"n$m\", \"cpu\": 2, \"egress_MBps\": $((m > 1 ? 100 : 10)), \"ingress_MBps\": 100}"
done
echo "{\"schema\": \"nomora.recovery/1\", \"servers\": [$servers], \"applications\": []}" >network.json
start "$bin/nomora-schedd" schedd --state state --socket "$NOMORA_SCHEDD" --curves "$source_root/curves" --network network.json
wait_for 60 "$nomora" jobs >/dev/null
start "$nomora" local-agent --machines machines --state "$dir/agent" --poll 0.1 --flows
agent=$started
submit() { printf '{"id": "a", "curve": "memcached", "root": 0, "tasks": 2, "command": ["python3", "-c", "import os; os.chdir(\\"%s\\"); exec(open(\\"task.py\\").read())"]}\n' "$dir" | "$nomora" submit - >/dev/null 2>>log; }
wait_for 30 submit
home_of() { "$nomora" jobs a --json | jq -r --arg t "$1" '.tasks[] | select(.name == $t) | .machine'; }
forecast() { "$nomora" what-if --within 0 --json "fail $(home_of t1)" >forecast.json 2>>log && jq -e "$1" forecast.json >/dev/null; }
soon "10 MB over four connections are measured" forecast '.recovery | .flows >= 1 and .measured == .flows and (.slowest_before_s * (if .tasks[0].from > "n1" then 100 else 10 end) | . > 9 and . < 10.1)'
check "the lost task would go to its peer, or to a machine with a fast link" jq -e '.recovery | .tasks[0].task == "t1" and .slowest_s < 0.11' forecast.json
to=$(jq -r '.recovery.tasks[0].to' forecast.json)
run "$nomora" what-if --within 0 "fail $(home_of t1)"
check "as the table says" grep -Eq 'with flows: optimal \([12] flows measured, 0 stated\)' <<<"$out"
kill "$agent"
wait "$agent"
sed -i "s/\"$(home_of t1)\", /&\"state\": \"down\", /" machines
start "$nomora" local-agent --machines machines --state "$dir/agent" --poll 0.1 --flows
is_there() { [ "$(home_of t1)" = "$to" ]; }
soon "its machine is down: it goes there" is_there
check "explain says that flows were measured" grep -Eq 'recovery placed all lost tasks .*\([12] flows measured, 0 stated\)' <("$nomora" explain a/t1)
plan
