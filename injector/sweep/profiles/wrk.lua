-- SPDX-License-Identifier: BSD-3-Clause
-- wrk's report as JSON; any failure fails the run. The mean time of a request is that of one connection, from the rate:
-- wrk's own latencies are filled up with requests that it would have sent, which a closed loop did not.
function done(summary, latency, requests)
	local e = summary.errors
	local failures = e.connect + e.read + e.write + e.status + e.timeout
	if failures > 0 or summary.requests == 0 then
		io.write(string.format("%d requests failed, %d answered\n", failures, summary.requests))
		os.exit(1)
	end
	io.write(string.format('{"requests_per_s": %.3f, "request_time_us": %.3f}\n',
		1e6 * summary.requests / summary.duration, summary.duration / summary.requests))
end
