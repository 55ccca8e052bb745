# SPDX-License-Identifier: BSD-3-Clause
# Makes a network (nomora.topology/1) of NetBox's interfaces and devices: docs/formats.md, "NetBox". Devices whose role's
# slug has a match of the regular expression $hosts are hosts; the others are switches.
#
#   jq -n --arg hosts '^server' --slurpfile interfaces interfaces.json --slurpfile devices devices.json -f network.jq
#
# Each file has all pages of the answer, one after the other. NetBox has followed the cables to the interface at the other
# end, through patch panels: connected_endpoints.

def objects($name):
  map(.results[]?) as $all
  | if length > 0 and ($all | length) == .[0].count then $all
    else error("\($name): \($all | length) of \(.[0].count // 0) objects; expected all pages of NetBox's answer") end;

def name: (.name // "device-\(.id)") | gsub("[\\s,\"]+"; "_");

# By the interface's speed, which is in kbit/s, or by a type such as "25gbase-x-sfp28".
def mbit:
  if (.speed // 0) > 0 then .speed / 1000
  else ((.type.value // "") | capture("^(?<number>[0-9.]+)(?<unit>[gt]?)base")?
        | (.number | tonumber) * {"": 1, g: 1000, t: 1000000}[.unit])
       // error("\(.device | name) \(.name): no speed, and the type '\(.type.value)' does not begin with one")
  end;

# What TCP carries in full frames.
def payload_MBps: . / 8 * 1448 / 1514;

(reduce ($devices | objects("devices"))[] as $device ({}; .["\($device.id)"] = $device)) as $known
| [($interfaces | objects("interfaces"))[]
   | select(.enabled and (.mgmt_only | not) and .connected_endpoints_reachable
            and .connected_endpoints_type == "dcim.interface")
   | .device.id as $from | (mbit / (.connected_endpoints | length)) as $mbit
   | .connected_endpoints[] | select(.device.id != $from)
   | {ends: ([$from, .device.id] | sort), from: $from, mbit: $mbit}] as $cables
| ($cables | map(.ends[]) | unique
   | map($known["\(.)"] // error("device \(.) has cables; expected it in the devices"))) as $nodes
| ($nodes | map(select((.role // .device_role).slug | test($hosts)))) as $servers
| if $servers == [] then
    error("no device with cables has a role like '\($hosts)'; found \($nodes | map((.role // .device_role).slug) | unique)")
  else . end
| {schema: "nomora.topology/1",
   switches: ($nodes - $servers | map({name: name})),
   hosts: ($servers | map({name: name})),
   links: [$cables | group_by(.ends)[]
           | {a: ($known["\(.[0].ends[0])"] | name), b: ($known["\(.[0].ends[1])"] | name),
              MBps: (group_by(.from) | map(map(.mbit) | add) | min | payload_MBps)}]}
