-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark dissector for STAMP (RFC 8762) with the TLVs of RFC 8972 and RFC 9503.
-- Copy it to ~/.local/lib/wireshark/plugins/, or: tshark -X lua_script:stamp.lua -r probes.pcap -O stamp
-- Authenticated packets look like unauthenticated ones with TLVs: set the preference stamp.authenticated to read them.

local stamp = Proto("stamp", "Simple Two-way Active Measurement Protocol")
stamp.prefs.port = Pref.uint("UDP port", 862, "Of the reflectors")
stamp.prefs.authenticated = Pref.bool("Authenticated mode", false, "Packets have an HMAC")

local f = {}
local function field(name, kind, label, ...) f[name] = ProtoField[kind]("stamp." .. name, label, ...) end
field("seq", "uint32", "Sequence number")
field("time", "absolute_time", "Timestamp", base.UTC)
field("error", "uint16", "Error estimate", base.HEX)
field("error_s", "bool", "Synchronised to UTC", 16, nil, 0x8000)
field("error_z", "uint16", "Format", base.DEC, {[0] = "NTP", [1] = "PTPv2"}, 0x4000)
field("error_scale", "uint16", "Scale", base.DEC, nil, 0x3f00)
field("error_multiplier", "uint16", "Multiplier", base.DEC, nil, 0x00ff)
field("ssid", "uint16", "Session identifier")
field("received", "absolute_time", "Receive timestamp", base.UTC)
field("sender_seq", "uint32", "Session-Sender sequence number")
field("sender_time", "absolute_time", "Session-Sender timestamp", base.UTC)
field("sender_error", "uint16", "Session-Sender error estimate", base.HEX)
field("sender_ttl", "uint8", "Session-Sender TTL")
field("residence", "relative_time", "Residence time")
field("hmac", "bytes", "HMAC")
field("tlv_flags", "uint8", "Flags", base.HEX)
field("tlv_u", "bool", "Unrecognised", 8, nil, 0x80)
field("tlv_m", "bool", "Malformed", 8, nil, 0x40)
field("tlv_i", "bool", "Integrity check failed", 8, nil, 0x20)
local types = {[1] = "Extra Padding", [2] = "Location", [3] = "Timestamp Information", [4] = "Class of Service",
	[5] = "Direct Measurement", [6] = "Access Report", [7] = "Follow-Up Telemetry", [8] = "HMAC",
	[9] = "Destination Node Address", [10] = "Return Path", [11] = "Micro-session ID"}
field("tlv_type", "uint8", "Type", base.DEC, types)
field("tlv_length", "uint16", "Length")
field("tlv_value", "bytes", "Value")
local subs = {[1] = "Source MAC", [2] = "Source EUI-48", [3] = "Source EUI-64", [4] = "Destination IP", [5] = "Destination IPv4",
	[6] = "Destination IPv6", [7] = "Source IP", [8] = "Source IPv4", [9] = "Source IPv6"}
field("sub_type", "uint8", "Sub-TLV", base.DEC, subs)
field("mac", "ether", "MAC address")
field("ipv4", "ipv4", "IPv4 address")
field("ipv6", "ipv6", "IPv6 address")
field("dst_port", "uint16", "Destination port of the request")
field("src_port", "uint16", "Source port of the request")
local clocks = {[1] = "NTP", [2] = "PTP", [3] = "SSU/BITS", [4] = "GNSS", [5] = "free running"}
local methods = {[1] = "hardware", [2] = "software", [3] = "control plane"}
field("clock_in", "uint8", "Clock of reception", base.DEC, clocks)
field("method_in", "uint8", "Method of reception", base.DEC, methods)
field("clock_out", "uint8", "Clock of transmission", base.DEC, clocks)
field("method_out", "uint8", "Method of transmission", base.DEC, methods)
field("dscp1", "uint16", "DSCP wanted", base.DEC, nil, 0xfc00)
field("dscp2", "uint16", "DSCP as it arrived", base.DEC, nil, 0x03f0)
field("ecn", "uint16", "ECN as it arrived", base.DEC, nil, 0x000c)
field("rp", "uint16", "Reverse path refused", base.DEC, nil, 0x0003)
field("direct_sent", "uint32", "Sent by the Session-Sender")
field("direct_received", "uint32", "Received by the Session-Reflector")
field("direct_answered", "uint32", "Sent by the Session-Reflector")
field("member_sender", "uint16", "Sender micro-session ID")
field("member_reflector", "uint16", "Reflector micro-session ID")
field("follow_seq", "uint32", "Sequence number of the answer before")
field("follow_time", "absolute_time", "It left at", base.UTC)
field("follow_method", "uint8", "Method", base.DEC, methods)
stamp.fields = f

local malformed = ProtoExpert.new("stamp.malformed", "TLV is cut short", expert.group.MALFORMED, expert.severity.ERROR)
local failed = ProtoExpert.new("stamp.failed", "TLV is flagged by the Session-Reflector", expert.group.RESPONSE_CODE,
	expert.severity.WARN)
stamp.experts = {malformed, failed}

-- RFC 5905: seconds since 1900 and 2^-32 s; the era is not sent. IEEE 1588: seconds since 1970 and nanoseconds.
local function time_of(range, ptp)
	local seconds, fraction = range(0, 4):uint(), range(4, 4):uint()
	if ptp then return NSTime.new(seconds, fraction) end
	if seconds < 0x80000000 then seconds = seconds + 2 ^ 32 end
	return NSTime.new(seconds - 2208988800, math.floor(fraction * 1e9 / 2 ^ 32))
end

local function is_ptp(range) return bit.band(range:uint(), 0x4000) ~= 0 end

local function add_error(tree, kind, range)
	local node = tree:add(kind, range)
	for _, name in ipairs({"error_s", "error_z", "error_scale", "error_multiplier"}) do node:add(f[name], range) end
end

local function add_flags(node, range)
	local flags = node:add(f.tlv_flags, range)
	for _, name in ipairs({"tlv_u", "tlv_m", "tlv_i"}) do flags:add(f[name], range) end
end

local function add_location(node, value)
	node:add(f.dst_port, value(0, 2))
	node:add(f.src_port, value(2, 2))
	local at = 4
	while at + 4 <= value:len() do
		local kind, length = value(at + 1, 1):uint(), value(at + 2, 2):uint()
		if at + 4 + length > value:len() then
			node:add_proto_expert_info(malformed)
			return
		end
		local sub = node:add(f.sub_type, value(at + 1, 1))
		add_flags(sub, value(at, 1))
		if kind == 2 and length == 8 then sub:add(f.mac, value(at + 4, 6)) end
		if (kind == 5 or kind == 8) and length == 16 then sub:add(f.ipv4, value(at + 4, 4)) end
		if (kind == 6 or kind == 9) and length == 16 then sub:add(f.ipv6, value(at + 4, 16)) end
		at = at + 4 + length
	end
end

local function add_fields(node, value, names)
	local at = 0
	for _, name in ipairs(names) do
		node:add(f[name[1]], value(at, name[2]))
		at = at + name[2]
	end
end

-- By type of TLV: minimum length, and the function that shows the value.
local values = {
	[2] = {4, add_location},
	[3] = {4, function(node, value)
		add_fields(node, value, {{"clock_in", 1}, {"method_in", 1}, {"clock_out", 1}, {"method_out", 1}})
	end},
	[4] = {4, function(node, value)
		for _, name in ipairs({"dscp1", "dscp2", "ecn", "rp"}) do node:add(f[name], value(0, 2)) end
	end},
	[5] = {12, function(node, value)
		add_fields(node, value, {{"direct_sent", 4}, {"direct_received", 4}, {"direct_answered", 4}})
	end},
	[7] = {16, function(node, value, ptp)
		node:add(f.follow_seq, value(0, 4))
		node:add(f.follow_time, value(4, 8), time_of(value(4, 8), ptp))
		node:add(f.follow_method, value(12, 1))
	end},
	[8] = {16, function(node, value) node:add(f.hmac, value(0, 16)) end},
	[9] = {4, function(node, value)
		if value:len() == 4 then node:add(f.ipv4, value) elseif value:len() == 16 then node:add(f.ipv6, value) end
	end},
	[11] = {4, function(node, value)
		add_fields(node, value, {{"member_sender", 2}, {"member_reflector", 2}})
	end},
}

local function add_tlvs(tree, range, ptp, reply)
	local at = 0
	while at + 4 <= range:len() do
		local kind, length = range(at + 1, 1):uint(), range(at + 2, 2):uint()
		local whole = math.min(4 + length, range:len() - at)
		local node = tree:add(stamp, range(at, whole), "TLV: " .. (types[kind] or "type " .. kind))
		add_flags(node, range(at, 1))
		node:add(f.tlv_type, range(at + 1, 1))
		node:add(f.tlv_length, range(at + 2, 2))
		if 4 + length > whole then
			node:add_proto_expert_info(malformed)
		elseif length > 0 then
			local shown = values[kind]
			if shown and length >= shown[1] then
				shown[2](node, range(at + 4, length), ptp)
			else
				node:add(f.tlv_value, range(at + 4, length))
			end
		end
		if reply and bit.band(range(at, 1):uint(), 0xe0) ~= 0 then node:add_proto_expert_info(failed) end
		at = at + whole
	end
end

-- Offsets: unauthenticated, authenticated (RFC 8762 figures 2, 3, 5, 6; SSID of RFC 8972).
local open = {time = 4, error = 12, ssid = 14, received = 16, sender_seq = 24, sender_time = 28, sender_error = 36, ttl = 40, size = 44}
local signed = {time = 16, error = 24, ssid = 26, received = 32, sender_seq = 48, sender_time = 64, sender_error = 72, ttl = 80,
	hmac = 96, size = 112}

function stamp.dissector(buffer, pinfo, root)
	local at = stamp.prefs.authenticated and signed or open
	local reply = pinfo.src_port == stamp.prefs.port
	if buffer:len() < (reply and at.ttl or at.ssid) then return 0 end
	local tree = root:add(stamp, buffer(), "STAMP " .. (reply and "reply" or "request"))
	local ptp = is_ptp(buffer(at.error, 2))
	pinfo.cols.protocol = "STAMP"
	pinfo.cols.info = (reply and "Reply" or "Request") .. " seq " .. buffer(0, 4):uint()
	tree:add(f.seq, buffer(0, 4))
	tree:add(f.time, buffer(at.time, 8), time_of(buffer(at.time, 8), ptp))
	add_error(tree, f.error, buffer(at.error, 2))
	if buffer:len() >= at.ssid + 2 then tree:add(f.ssid, buffer(at.ssid, 2)) end
	if reply then
		local t2, t3 = time_of(buffer(at.received, 8), ptp), time_of(buffer(at.time, 8), ptp)
		local sender_ptp = is_ptp(buffer(at.sender_error, 2))
		tree:add(f.received, buffer(at.received, 8), t2)
		tree:add(f.residence, t3 - t2):set_generated()
		tree:add(f.sender_seq, buffer(at.sender_seq, 4))
		tree:add(f.sender_time, buffer(at.sender_time, 8), time_of(buffer(at.sender_time, 8), sender_ptp))
		add_error(tree, f.sender_error, buffer(at.sender_error, 2))
		if buffer:len() > at.ttl then tree:add(f.sender_ttl, buffer(at.ttl, 1)) end
		pinfo.cols.info:append(" for " .. buffer(at.sender_seq, 4):uint())
	end
	if at.hmac and buffer:len() >= at.size then tree:add(f.hmac, buffer(at.hmac, 16)) end
	if buffer:len() > at.size then add_tlvs(tree, buffer(at.size):tvb():range(), ptp, reply) end
	return buffer:len()
end

local port = 0
function stamp.init()
	local table = DissectorTable.get("udp.port")
	if port ~= stamp.prefs.port then
		if port ~= 0 then table:remove(port, stamp) end
		port = stamp.prefs.port
		table:add(port, stamp)
	end
end
