# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # lab, controller and hosts are the script's
# Starts a Slurm cluster in a lab. The script sources tests/cli/lib.sh, sets lab, controller (a host) and hosts (one slurmd
# each), sources this file, starts the lab and calls start_slurm. Slurm's own traffic uses a management network, as in
# real racks: a bridge in the controller's namespace. On the fabric it would use equal-cost routes that nobody repairs:
# with a link cut, a quarter of Slurm's connections over it would be lost. slurmctld, slurmd and munged run in the lab and
# end with it.
for program in slurmctld slurmd munged; do command -v $program >/dev/null || skip_all "needs $program"; done
dir=$(mktemp -d /tmp/nomora-slurm.XXXXXX) # the paths of unix sockets are short
at_exit rm -rf "$dir"
mkdir -p "$dir"/{state,spool}
export SLURM_CONF=$dir/slurm.conf
declare -A node_options # the options of a host's line in slurm.conf, instead of the default ones

# launch HOST COMMAND...: replaces the (background) shell by the command, in the host's network, with its name. Not 'ip
# netns exec', which would remount /sys.
launch() { exec nsenter --net="/run/netns/$lab-$1" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$@"; }
on() { (launch "$@"); }
# ctl COMMAND...: a Slurm command, on the controller's host.
ctl() { nsenter --net="/run/netns/$lab-$controller" timeout 60 "$@"; }
management() { echo "10.99.0.$((${1#h} + 1))"; }
make_management_network() {
	local host
	ip -n "$lab-$controller" link add management type bridge
	ip -n "$lab-$controller" address add "$(management "$controller")/24" dev management
	ip -n "$lab-$controller" link set management up
	for host in "${hosts[@]}"; do
		ip -n "$lab-$controller" link add "to-$host" master management type veth peer name management netns "$lab-$host"
		ip -n "$lab-$controller" link set "to-$host" up
		ip -n "$lab-$host" address add "$(management "$host")/24" dev management
		ip -n "$lab-$host" link set management up
	done
}
write_conf() {
	local host
	cat <<-END
		ClusterName=nomora
		SlurmctldHost=$controller($(management "$controller"))
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock,cred_expire=5
		CredType=cred/munge
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.%n.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.%n.log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=${NOMORA_CONSUMES:-CR_CPU}
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,bf_interval=1
		ReturnToService=2
		SlurmdParameters=config_overrides
		SlurmdTimeout=300
		MessageTimeout=60
		BatchStartTimeout=60
		InactiveLimit=0
		KillWait=2
		MinJobAge=60
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	for host in "${hosts[@]}"; do echo "NodeName=$host NodeAddr=$(management "$host") ${node_options[$host]-CPUs=2 RealMemory=100}"; done
}
start_controller() { on "$controller" slurmctld "$@" -f "$SLURM_CONF"; }
# start_slurm [LINE...]: starts Slurm with these additional lines in slurm.conf, and with $dir/topology.conf if it exists.
start_slurm() {
	local host
	make_management_network
	{ write_conf; [ $# -eq 0 ] || printf '%s\n' "$@"; } >"$SLURM_CONF"
	(umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
	on "$controller" munged --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/munge.seed" --origin=127.0.0.1
	start_controller -c
	# PMIx keeps a step's files below /tmp, under the same name on each host, but these hosts share /tmp. mpi.conf is
	# next to slurm.conf.
	for host in "${hosts[@]}"; do
		mkdir "$dir/spool/$host"
		cp "$dir"/*.conf "$dir/spool/$host"
		echo "PMIxCliTmpDirBase=$dir/spool/$host" >"$dir/spool/$host/mpi.conf"
		on "$host" env -u SLURM_CONF slurmd -N "$host" -f "$dir/spool/$host/slurm.conf"
	done
}
all_idle() { [ "$(ctl sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" -eq ${#hosts[@]} ]; }
