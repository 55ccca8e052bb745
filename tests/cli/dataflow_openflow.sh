#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora dataflow openflow: the flows sent to the switches follow the plan's routes; refusals, timeouts and other
# versions are reported by switch, and a failed update is repeated. python3-openflow reads every message and writes the
# same bytes. tests/lab/openflow.sh (suite demo) does this with Open vSwitch.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/job.json" <<'TEXT'
{"schema": "nomora.dataflow/1", "topology": "fattree:4", "slots": 1, "jobs": [{"name": "j",
 "components": [{"name": "a", "tasks": 2}, {"name": "b", "tasks": 2}], "edges": [{"from": "a", "to": "b"}],
 "placement": {"a.0": "h0", "a.1": "h1", "b.0": "h15", "b.1": "h8"}}]}
TEXT
"$nomora" dataflow plan --scenario "$scratch/net.json" "$scratch/job.json"

# switches MODE: starts all 20 switches; each logs its flows and all received bytes. A mode with "once" misbehaves only
# on the first connection.
cat >"$scratch/switches.py" <<'PYTHON'
import json, os, socket, struct, sys, threading
mode, folder, net = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))["topology"]
names = [s["name"] for s in net["switches"]]
def answer(link, name, message, log, connection, flows):
    version, kind, length, xid = struct.unpack("!BBHI", message[:8])
    def does(what, where):
        return name == where and (mode == what or mode == what + "-once" and connection == 1)
    if kind == 3:
        print(json.dumps({"echo": message[8:].decode()}), file=log)
    elif kind == 14 and does("full", "edge0.0"):
        link.sendall(struct.pack("!BBHIHH", 4, 1, 12, xid, 5, 1))
    elif kind == 14 and does("restart", "edge0.0"):
        raise OSError("restarts")
    elif kind == 14 and message[25] == 3:
        cookie, mask = struct.unpack("!QQ", message[8:24])
        for match in [m for m, f in flows.items() if (int.from_bytes(f[24:32], "big") ^ cookie) & mask == 0]:
            del flows[match]
        print(json.dumps({"delete": True}), file=log)
    elif kind == 14:
        flows[message[48:80]] = struct.pack("!HBxIIHHHH4x", length, 0, 0, 0, 32000, 0, 0, 0) + message[8:16] + bytes(16) + message[48:]
        print(json.dumps({"arp": message[56:58] == b"\x08\x06", "from": message[65], "to": message[73],
                          "port": struct.unpack("!I", message[92:96])[0]}), file=log)
    elif kind == 18:
        try: # lost or foreign flows, as another controller leaves them
            with open(f"{folder}/{name}.change") as change:
                eval(change.read(), {"flows": flows})
            os.remove(f"{folder}/{name}.change")
        except FileNotFoundError:
            pass
        body = b"".join(flows.values())
        link.sendall(struct.pack("!BBHIHH4x", 4, 19, 16 + len(body), xid, 1, 0) + body)
    elif kind == 5:
        number = 0 if mode == "same" else names.index(name)
        link.sendall(struct.pack("!BBHIQIBB2xII", 4, 6, 32, xid, number, 0, 254, 0, 79, 0))
    elif kind == 20 and mode == "old" and name == "core0":
        link.sendall(struct.pack("!BBHIHH", 1, 1, 12, xid, 0, 0))
    elif kind == 20 and not does("silent", "core0"):
        link.sendall(struct.pack("!BBHI", 4, 21, 8, xid))
def serve(name, listener):
    connection, flows = 0, {} # flows: entries of flow statistics, by match
    while True:
        link, buffer, connection = listener.accept()[0], b"", connection + 1
        try:
            with link, open(f"{folder}/{name}.log", "w", buffering=1) as log, open(f"{folder}/{name}.bytes", "ab", buffering=0) as bytes:
                link.sendall(struct.pack("!BBHI", 4, 0, 8, 1) + struct.pack("!BBHI", 4, 2, 12, 77) + b"ping")
                while data := link.recv(65536):
                    bytes.write(data)
                    buffer += data
                    while len(buffer) >= 8 and len(buffer) >= struct.unpack("!H", buffer[2:4])[0]:
                        length = struct.unpack("!H", buffer[2:4])[0]
                        answer(link, name, buffer[:length], log, connection, flows)
                        buffer = buffer[length:]
                        if os.path.exists(f"{folder}/{name}.restart"):
                            os.remove(f"{folder}/{name}.restart")
                            flows.clear()
                            raise OSError("restarts")
        except OSError: # the controller or this switch has closed it
            pass
for switch in net["switches"]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{switch['name']}.mgmt")
    listener.listen()
    threading.Thread(target=serve, args=(switch["name"], listener), daemon=True).start()
open(f"{folder}/ready", "w").close()
threading.Event().wait()
PYTHON
switches() {
	mkdir "$scratch/$1"
	python3 "$scratch/switches.py" "$1" "$scratch/$1" "$scratch/net.json" &
	at_exit kill $!
	wait_for 60 test -e "$scratch/$1/ready" || fail "the switches of '$1' start"
}

switches good
run "$nomora" dataflow openflow "$scratch/good" --json --timeout-ms 60000 "$scratch/job.json"
check "the switches confirm" grep -qE '^80 flows in 20 switches confirmed in [0-9.]+ ms$' <<<"$err"
# Each flow of a pair, from its first switch on, follows the links of the route.
check "and their flows lead along the plan's routes" python3 - "$out" "$scratch/net.json" "$scratch/good" <<'PYTHON'
import json, sys
plan, net, folder = json.loads(sys.argv[1]), json.load(open(sys.argv[2]))["topology"], sys.argv[3]
hosts = [h["name"] for h in net["hosts"]]
flows, deletes = {}, 0
for switch in net["switches"]:
    for line in map(json.loads, open(f"{folder}/{switch['name']}.log")):
        if "port" in line:
            flows[switch["name"], line["from"], line["to"], line["arp"]] = line["port"]
        deletes += "delete" in line
assert deletes == 16 * len(net["switches"]), deletes
used = 0
for route in plan["routes"]:
    for a, b, links in ((route["from"], route["to"], route["links"]), (route["to"], route["from"],
            [" -> ".join(reversed(l.split(" -> "))) for l in reversed(route["links"])])):
        for arp in (False, True):
            for link in links[1:]:
                at, to = link.split(" -> ")
                port = flows[at, hosts.index(a) + 1, hosts.index(b) + 1, arp]
                assert {net["links"][port - 1]["a"], net["links"][port - 1]["b"]} == {at, to}, (route, at)
                used += 1
assert used == len(flows) == 80, (used, len(flows))
PYTHON
check "echo requests are answered" grep -q '"ping"' "$scratch/good/edge0.0.log"
# python3-openflow belongs to Debian's Python.
if /usr/bin/python3 -c 'import pyof' 2>/dev/null; then
	check "python3-openflow reads every message and writes the same bytes" /usr/bin/python3 - "$scratch/good" <<'PYTHON'
import collections, glob, struct, sys
from pyof.v0x04.common.utils import unpack_message
kinds = collections.Counter()
for path in glob.glob(sys.argv[1] + "/*.bytes"):
    rest = open(path, "rb").read()
    while rest:
        length = struct.unpack("!H", rest[2:4])[0]
        message = unpack_message(rest[:length])
        assert message.pack() == rest[:length], (path, message.header.message_type, rest[:length].hex())
        kinds[str(message.header.message_type)] += 1
        rest = rest[length:]
assert kinds["14"] == 80 + 16 * 20 and len(kinds) == 6, kinds
PYTHON
else
	skip "python3-openflow reads every message and writes the same bytes" "no python3-openflow"
fi
if command -v ovs-ofctl >/dev/null; then
	# The messages that a switch received, as a stream for ovs-ofctl snoop
	timeout 60 python3 - "$scratch" <<'PYTHON' &
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/snoop")
listener.listen()
link = listener.accept()[0]
link.sendall(open(sys.argv[1] + "/good/edge0.0.bytes", "rb").read())
link.shutdown(socket.SHUT_WR)
while link.recv(4096): pass
PYTHON
	wait_for 60 test -S "$scratch/snoop"
	OVS_RUNDIR=$scratch timeout 60 ovs-ofctl -O OpenFlow13 snoop "unix:$scratch/snoop" >"$scratch/snooped" 2>&1
	check "ovs-ofctl snoop reads every flow" test "$(grep -cE "FLOW_MOD \\(OF1.3\\).*: (ADD priority=32000,(ip,nw|arp,arp)_?.*10\\.0\\.0\\.[0-9]+ cookie:0x4e4f4d4f5241[0-9a-f]{4} actions=output:[0-9]+|DEL .*cookie:0x4e4f4d4f5241)" "$scratch/snooped")" -eq $(($(grep -c port "$scratch/good/edge0.0.log") + 16))
else
	skip "ovs-ofctl snoop reads every flow" "no ovs-ofctl"
fi
# fails_for MODE LINE OPTION...: the update fails three times, each time with this message
fails_for() {
	local mode=$1 line=$2
	switches "$mode"
	run "$nomora" dataflow openflow "$scratch/$mode" "${@:3}" "$scratch/job.json"
	check "$mode: three attempts, then exit 1" test "$code $(grep -c "$line: trying again\$" <<<"$err") $(grep -c "error: $line\$" <<<"$err")" = "1 2 1"
}
fails_for full "switch 'edge0.0' refuses: flow mod failed: table full" --timeout-ms 60000
check "and nothing was deleted: the old path stays" sh -c "! grep -h delete '$scratch'/full/*.log"
fails_for silent "switch 'core0' did not confirm within 300 ms" --timeout-ms 300
for mode in full-once silent-once restart-once; do
	timeout=60000
	[ $mode = silent-once ] && timeout=2000
	switches $mode
	run "$nomora" dataflow openflow "$scratch/$mode" --timeout-ms $timeout "$scratch/job.json"
	check "$mode: reported, and confirmed at the second attempt" test "$code $(grep -c "switch '[a-z0-9.]*'.*: trying again\$" <<<"$err") $(grep -c '^80 flows in 20' <<<"$err")" = "0 1 1"
done
# Plans with other routes: core switch k has no links. NOMORA_KILLS=N kills instead of 10.
for k in 0 1 2 3; do
	jq --slurpfile net "$scratch/net.json" --arg core "core$k" \
		'.topology = ($net[0].topology | .links |= map(if .a == $core or .b == $core then .up = false else . end))' "$scratch/job.json" >"$scratch/job$k.json"
done
mkdir "$scratch/kills"
run python3 "$source_root/tests/support/openflow_kills.py" "$nomora" "$scratch/kills" "$scratch/net.json" "${NOMORA_KILLS:-10}" 1 "" "" "$scratch"/job[0-3].json
printf '%s\n' "$out" "$err"
check "killed half done, an update leaves a way between all hosts" test "$code" -eq 0
flows_of() { grep -c port "$scratch/kept/$1.log"; }
switches kept
"$nomora" dataflow openflow "$scratch/kept" --json --keep --timeout-ms 60000 "$scratch/job.json" >"$scratch/kept.plan" 2>"$scratch/kept.said" &
keeper=$!
check "kept flows are set" wait_for 60 grep -q '^80 flows' "$scratch/kept.said"
wanted=$(flows_of edge0.0)
touch "$scratch/kept/edge0.0.restart"
set_twice() { [ "$(grep -c '^80 flows' "$scratch/kept.said")" -eq 2 ]; }
check "after the restart of a switch they are set again" wait_for 60 set_twice
check "in that switch too" test "$wanted" -gt 0 -a "$(flows_of edge0.0)" -eq "$wanted"
# change SWITCH EXPRESSION: changes the flows of a switch at the next request for them
change() { printf '%s' "$2" >"$scratch/kept/$1.part" && mv "$scratch/kept/$1.part" "$scratch/kept/$1.change"; }
change edge0.0 'flows.clear()'
wanted_again() { grep -qx "switch 'edge0.0' had lost $wanted flows: set again" "$scratch/kept.said" && [ "$(flows_of edge0.0)" -eq $((2 * wanted)) ]; }
begin=$EPOCHREALTIME
check "deleted flows are set again" wait_for 60 wanted_again
printf '# %d ms after the deletion\n' $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
change edge0.0 'flows.update({k: v[:-9] + bytes([v[-9] ^ 1]) + v[-8:] for k, v in list(flows.items())[:1]})'
check "a flow with another port is set again" wait_for 60 grep -qx "switch 'edge0.0' had lost 1 flow: set again" "$scratch/kept.said"
check "it says which switch" grep -qE "switch 'edge0.0'.*: trying again" "$scratch/kept.said"
check "the plan was printed" jq -e '.routes | length > 0' "$scratch/kept.plan"
kill -TERM $keeper
wait $keeper
check "SIGTERM ends it with exit status 0" test $? -eq 0
foreign='flows.update({k: v[:24] + bytes([0] * 7 + [0x77]) + v[32:] for k, v in list(flows.items())[:1]})'
"$nomora" dataflow openflow "$scratch/kept" --keep --timeout-ms 60000 "$scratch/job.json" >/dev/null 2>"$scratch/kept.said" &
keeper=$!
wait_for 60 grep -q '^80 flows' "$scratch/kept.said"
change edge0.0 "$foreign"
wait $keeper
check "a flow that another controller has replaced ends it" test "$? $(grep -c "switch 'edge0.0' has a flow of another controller, with cookie 0x77, for the .*packets from 'h[0-9]*' to 'h[0-9]*' at our priority 32000" "$scratch/kept.said")" = "1 1"
run "$nomora" dataflow openflow "$scratch/kept" --timeout-ms 60000 "$scratch/job.json"
check "and is not replaced by the next update" test "$code $(grep -c "switch 'edge0.0' has a flow of another controller" <<<"$err") $(cat "$scratch"/kept/*.log | grep -c port)" = "1 1 0"
switches same
refuses "two sockets of one switch" 1 "switches 'core0' and 'core1' are the same switch: both have datapath 0000000000000000" \
	"$nomora" dataflow openflow "$scratch/same" --timeout-ms 60000 "$scratch/job.json"
switches old
refuses "a switch of OpenFlow 1.0" 1 "switch 'core0' answers in OpenFlow version 1, expected 4 \\(1.3\\)" \
	"$nomora" dataflow openflow "$scratch/old" --timeout-ms 60000 "$scratch/job.json"
run "$nomora" dataflow openflow "$scratch" "$scratch/job.json"
check "no switches" test "$code $(grep -c "switch 'core0': cannot connect to $scratch/core0.mgmt: No such file" <<<"$err")" = "1 3"
refuses "a bad address" 2 "first-address: found 'ten', expected an IPv4 address" \
	"$nomora" dataflow openflow "$scratch" --first-address ten "$scratch/job.json"
plan
