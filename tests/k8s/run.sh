#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# schedd's extender and nomora k8s-agent with a real kube-scheduler and kube-apiserver; README.md. Nodes are objects
# without a kubelet: pods are bound, but nothing runs.
top=$2
kube_bin=${NOMORA_K8S_FOLDER:-$3}/bin
# A network namespace of our own: all ports are free, and no other programs are in it.
[ -n "${NOMORA_K8S_NETWORK:-}" ] || ! unshare --net true 2>/dev/null ||
	NOMORA_K8S_NETWORK=1 exec unshare --net "${BASH_SOURCE[0]}" "$@"
. "$top/tests/cli/lib.sh"
[ -n "${NOMORA_K8S_NETWORK:-}" ] || skip_all "needs root and network namespaces"
for program in etcd kube-apiserver kube-scheduler; do
	[ -x "$kube_bin/$program" ] || skip_all "needs $program in $kube_bin; run tests/k8s/prepare"
done
nodes=${NOMORA_K8S_NODES:-300} racks=10
dir=$(mktemp -d /tmp/nomora-k8s.XXXXXX)
at_exit rm -rf "$dir"
mkdir "$dir/etcd" "$dir/cert" "$dir/requests"
export KUBE=127.0.0.1:6443 KUBE_TOKEN=admin KUBE_CA=$dir/cert/apiserver.crt NOMORA_SCHEDD=$dir/schedd.sock
ip link set lo up
ip address add 10.99.0.1/32 dev lo # kube-apiserver does not advertise a loopback address

# start NAME COMMAND...: in the background, its output in NAME.log.
start() {
	local name=$1
	shift
	"$@" >>"$dir/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/$name.pid"
	at_exit kill -9 $!
}
stop() { kill -9 "$(cat "$dir/$1.pid")" && wait "$(cat "$dir/$1.pid")" 2>/dev/null; true; }
kube() { python3 "$top/tests/k8s/kube.py" "$@"; }
api() { curl -sS --fail --max-time 60 --cacert "$KUBE_CA" -H "Authorization: Bearer $KUBE_TOKEN" "$@"; }

start_apiserver() {
	start apiserver "$kube_bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --bind-address=127.0.0.1 \
		--advertise-address=10.99.0.1 --cert-dir="$dir/cert" --token-auth-file="$dir/tokens" --authorization-mode=RBAC \
		--service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file="$dir/key" \
		--service-account-key-file="$dir/key" --disable-admission-plugins=ServiceAccount,TaintNodesByCondition \
		--service-cluster-ip-range=10.98.0.0/24
	wait_for 120 api "https://$KUBE/readyz"
}
# start_scheduler NODE_CACHE_CAPABLE: starts it with the shipped configuration; its requests pass through the recorder.
start_scheduler() {
	# 1.20 has no v1 of the configuration yet.
	sed -e 's,^apiVersion: .*,apiVersion: kubescheduler.config.k8s.io/v1beta1,' -e "s,/etc/kubernetes/scheduler.conf,$dir/scheduler.conf," -e 's,TOKEN@127.0.0.1:8866,secret@127.0.0.1:8867,' \
		-e "s,nodeCacheCapable: .*,nodeCacheCapable: $1," -e '/^clientConnection:/a\  qps: 5000\n  burst: 5000' \
		"$top/integrations/kubernetes/scheduler-config.yaml" >"$dir/scheduler.yaml"
	echo 'leaderElection: {leaderElect: false}' >>"$dir/scheduler.yaml"
	start scheduler "$kube_bin/kube-scheduler" --config="$dir/scheduler.yaml" --cert-dir="$dir/cert"
}
start_schedd() {
	[ -e "$dir/latency.csv" ] || head -n 1 "$dir/new.csv" >"$dir/latency.csv"
	start schedd "$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --curves "$top/curves" \
		--latency "$dir/latency.csv" --max-age 0 --extender 127.0.0.1:8866 --extender-token-file "$dir/extender.token"
	wait_for 60 "$nomora" jobs
}
start_agent() { start agent "$nomora" k8s-agent --server "https://$KUBE" --ca-file "$KUBE_CA" --token-file "$dir/token" --resync 1; }

# within NAME COMMAND...: passes when the command succeeds within a minute.
within() {
	local name=$1
	shift
	if wait_for 60 "$@"; then pass "$name"; else fail "$name" "$*" "$("$nomora" jobs --json 2>&1 | jq -c .)" "$(tail -n 5 "$dir/agent.log" "$dir/schedd.log" "$dir/scheduler.log" 2>&1)"; exit 1; fi # the other tests need it
}
count_bound() { [ "$(kube bound "$1-" | jq length)" -eq "$2" ]; }
rack() { echo "rack$((${1#n} % racks))"; }
# same_rack JOB: all pods are in the root's rack.
same_rack() {
	local node root
	kube bound "$1-" >"$dir/bound.json"
	root=$(jq -r ".[\"$1-root\"]" "$dir/bound.json")
	for node in $(jq -r '.[]' "$dir/bound.json"); do [ "$(rack "$node")" = "$(rack "$root")" ] || return 1; done
}
# as_decided JOB: each pod is on a node that an answer of the extender allowed.
as_decided() {
	python3 - "$1" "$dir" <<-'END'
		import glob, json, sys
		job, folder = sys.argv[1:]
		left = {}
		for name in glob.glob(folder + "/requests/*.filter.request.json"):
		    pod = json.load(open(name))["Pod"]["metadata"]["name"]
		    text = open(name.replace("request.json", "answer.json")).read()
		    answer = json.loads(text) if text else {}
		    items = (answer.get("Nodes") or {}).get("items", [])
		    left.setdefault(pod, set()).update(answer.get("NodeNames") or [i["metadata"]["name"] for i in items])
		bound = json.load(open(folder + "/bound.json"))
		wrong = {p: n for p, n in bound.items() if n not in left.get(p, ())}
		print(len(bound), "bound; elsewhere than decided:", wrong)
		sys.exit(1 if wrong or not bound else 0)
	END
}
# runs JOB COUNT: true if COUNT of the job's tasks run according to schedd
runs() { [ "$("$nomora" jobs "k8s-default.$1" --json | jq '[.tasks[] | select(.state == "running")] | length')" -eq "$2" ]; }
# agree JOB: schedd has each bound pod on the same node as Kubernetes, and no other pods.
agree() {
	kube bound "$1-" >"$dir/bound.json"
	[ "$("$nomora" jobs "k8s-default.$1" --json | jq -cS '[.tasks[] | select(.state == "running") | {(.name): .machine}] | add')" = "$(jq -cS . "$dir/bound.json")" ]
}
slots_agree() { [ "$("$nomora" nodes --json | jq '[.machines[].tasks] | add')" -eq "$("$nomora" jobs --json | jq '[.jobs[].running] | add')" ]; }

# --- set-up
openssl genrsa -out "$dir/key" 2048 2>/dev/null
printf '%s\n' 'admin,admin,1,system:masters' 'scheduler,system:kube-scheduler,2' 'agent,system:serviceaccount:kube-system:nomora-agent,3' >"$dir/tokens"
echo agent >"$dir/token"
(umask 077 && echo secret >"$dir/extender.token")
cat >"$dir/scheduler.conf" <<END
{"apiVersion": "v1", "kind": "Config", "current-context": "c",
 "clusters": [{"name": "c", "cluster": {"server": "https://$KUBE", "certificate-authority": "$KUBE_CA"}}],
 "users": [{"name": "u", "user": {"token": "scheduler"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
END
python3 - "$nodes" "$racks" >"$dir/new.csv" <<'END'
import sys, time
nodes, racks = map(int, sys.argv[1:])
now = int(time.time())
print("src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at")
for a in range(nodes):
    for b in range(a % racks, nodes, racks):
        if a != b:
            us = 20 + 30 * ((a * 7 + b * 3) % 11)
            print(f"n{a},n{b},{us},{us},{us},0,9,{now}")
END
start etcd "$kube_bin/etcd" --data-dir "$dir/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
	--listen-peer-urls http://127.0.0.1:2380 --log-level error
check "kube-apiserver is ready" start_apiserver
# manifest PATH NUMBER: posts a document of agent.yaml.
manifest() { awk -v want="$2" '/^---$/ {n++; next} n == want - 1' "$top/integrations/kubernetes/agent.yaml" | api -o /dev/null -H 'Content-Type: application/yaml' --data-binary @- "https://$KUBE$1"; }
wait_for 60 api -o /dev/null "https://$KUBE/api/v1/namespaces/kube-system"
wait_for 60 api -o /dev/null "https://$KUBE/api/v1/namespaces/default"
wait_for 60 api -o /dev/null "https://$KUBE/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler"
check "agent.yaml: the service account" manifest /api/v1/namespaces/kube-system/serviceaccounts 1
check "agent.yaml: its role" manifest /apis/rbac.authorization.k8s.io/v1/clusterroles 2
check "agent.yaml: the binding" manifest /apis/rbac.authorization.k8s.io/v1/clusterrolebindings 3
check "$nodes nodes in $racks racks" kube nodes "$nodes" "$racks"
check "schedd serves" start_schedd
start_agent
up() { [ "$("$nomora" nodes --json | jq '[.machines[] | select(.state == "up" and .slots == 110)] | length')" -eq "$1" ]; }
within "the agent makes the nodes machines, a slot for each pod that they take" up "$nodes"
mv "$dir/new.csv" "$dir/latency.csv" # schedd rereads it; it knows the machines now
check "racks are the nodes' zones" test "$("$nomora" nodes --json | jq '[.machines[].rack] | unique | length')" -eq $racks
start recorder python3 "$top/tests/k8s/record.py" 8867 8866 "$dir/requests"
start_scheduler true

# --- a job, names alone
kube tasks early 0 2
# 1.20 ignores FailedAndUnresolvableNodes, so its events do not have the reason.
waits() { grep -l '"name":"early-1"' "$dir"/requests/*.filter.request.json | sed 's/request.json$/answer.json/' | xargs grep -q 'FailedAndUnresolvableNodes.*has no root yet'; }
within "tasks without a root wait, and the answer says why" waits
kube root early # retried after a minute; checked below
kube root web
within "the root is bound" count_bound web 1
kube tasks web 0 20
within "root and 20 tasks are bound" count_bound web 21
check "in the root's rack" same_rack web
check "where schedd decided" as_decided web
within "schedd has them where Kubernetes has them" agree web

# --- pods end
kube delete /api/v1/namespaces/default/pods/web-0
kube evict web-1
kube end web-2 Succeeded
kube end web-3 Failed
within "deleted, evicted, ended and failed pods free their slots" runs web 17
kube delete /api/v1/namespaces/default/pods/web-root
within "the root's slot is free, too" runs web 16
kube tasks web 100 4
within "later tasks go where the root was" runs web 20
kube bound web- >"$dir/bound.json"
check "in its rack" test "$(jq -r '.[]' "$dir/bound.json" | while read -r node; do rack "$node"; done | sort -u | wc -l)" -eq 1

within "each running task has its slot" slots_agree

# --- programs die
stop schedd
kube delete /api/v1/namespaces/default/pods/web-4
start_schedd
within "schedd was killed: a pod deleted meanwhile is gone" runs web 19
stop agent
kube delete /api/v1/namespaces/default/pods/web-5
# Near nodes are as good as the root's for this curve, so that several pass the filter, and are rated.
export KUBE_CURVE=spark
kube root shop
kube tasks shop 0 5
unset KUBE_CURVE
within "without the agent pods are placed" count_bound shop 6
check "prioritize was asked, too" test -n "$(find "$dir/requests" -name '*.prioritize.request.json' -print -quit)"
start_agent
within "the agent was killed: both sides agree again" agree shop
stop apiserver
start_apiserver
kube delete /api/v1/namespaces/default/pods/shop-0
within "kube-apiserver was killed: the watch goes on" runs shop 5
check "the agent said so" grep -q 'the API server' "$dir/agent.log"
in_state() { [ "$("$nomora" nodes --json | jq -r ".machines[] | select(.name == \"$1\").state")" = "$2" ]; }
free_node=$("$nomora" nodes --json | jq -r '[.machines[] | select(.tasks == 0).name][0]')
kube cordon "$free_node"
within "a cordoned node is draining" in_state "$free_node" draining
kube delete "/api/v1/nodes/$free_node"
within "a deleted one is no machine any more" in_state "$free_node" ""
stop schedd
kube root alone
kube tasks alone 0 3
within "ignorable: without schedd kube-scheduler decides" count_bound alone 4
start_schedd
within "schedd is back: the agent reports them" agree alone
kube tasks alone 10 3
within "and later tasks follow a root that schedd did not place" agree alone
joined() { count_bound alone 7 && [ "$(rack "$(jq -r '."alone-root"' "$dir/bound.json")")" = "$(rack "$(jq -r '."alone-10"' "$dir/bound.json")")" ]; }
within "into its rack" joined

# --- whole nodes
stop scheduler
start_scheduler false
kube root whole
kube tasks whole 0 5
within "nodeCacheCapable false: bound" count_bound whole 6
check "in the root's rack" same_rack whole
check "where schedd decided" as_decided whole

# --- rates; no bounds
stop scheduler
start_scheduler true
plain=$(kube rate plain 300 -)
kube root fast
placed=$(kube rate fast 300 fast)
within "all agree after 300 pods" runs fast 301
wait_for 60 count_bound early 3
within "tasks that were there before their root are bound" count_bound early 3
echo "# $nodes nodes: $plain pods/s without labels, $placed with; extender, median of its requests:"
python3 - "$dir/requests/times.csv" <<'END'
import statistics, sys
rows = [line.strip().split(",") for line in open(sys.argv[1])]
for verb in ("filter", "prioritize"):
    for whole in (False, True):
        us = sorted(float(r[2]) for r in rows if r[0] == verb and (int(r[1]) > 60000) == whole)
        if us:
            print(f"# {verb} {'nodes' if whole else 'names'}: {len(us)} requests, {statistics.median(us):.0f} us, p99 {us[int(len(us) * 0.99)]:.0f} us")
END
[ -z "${NOMORA_K8S_KEEP:-}" ] || cp -r "$dir" "$NOMORA_K8S_KEEP"
plan
