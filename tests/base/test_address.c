/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <base/address.h>

Test(address, is_read_strictly_and_printed)
{
	uint8_t mac[ADDRESS_MAC_BYTES];
	ip_address address;
	char text[ADDRESS_TEXT_BYTES];

	cr_assert_eq(address_parse_mac("02:aB:00:00:00:fF", mac), 0);
	address_print_mac(mac, text);
	cr_assert_str_eq(text, "02:ab:00:00:00:ff");
	cr_assert_eq(address_parse_mac("02:ab:00:00:00", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("02:ab:00:00:00:ff:", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("02-ab-00-00-00-ff", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("", mac), -EINVAL);
	cr_assert_eq(address_parse("10.1.2.3", &address), 0);
	address_print(address, text);
	cr_assert_str_eq(text, "10.1.2.3");
	cr_assert_eq(address_parse("10.1.2", &address), -EINVAL);
	cr_assert_eq(address_parse("10.1.2.300", &address), -EINVAL);
	cr_assert_eq(address_parse("2001:DB8:0::10", &address), 0);
	cr_assert_eq((uint64_t)(address >> 64), UINT64_C(0x20010db800000000));
	cr_assert_eq((uint64_t)address, 16);
	cr_assert(!address_is_ipv4(address));
	address_print(address, text);
	cr_assert_str_eq(text, "2001:db8::10");
	cr_assert_eq(address_parse("::1", &address), -EINVAL);
	cr_assert_eq(address_parse("::ffff:10.0.0.1", &address), -EINVAL);
	cr_assert_eq(address_parse("fe80::1%eth0", &address), -EINVAL);
}

Test(address, a_host_has_neither_a_group_address_nor_loopback)
{
	static const char *const hosts[] = {"10.0.0.1", "126.255.255.255", "128.0.0.1", "223.0.0.1", "fe80::1"};
	static const char *const others[] = {"0.0.0.0",   "0.1.2.3",   "127.0.0.1",       "127.9.9.9",
					     "224.0.0.1", "240.0.0.1", "255.255.255.255", "ff02::1"};
	ip_address address;

	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
		cr_assert(address_parse(hosts[i], &address) == 0 && address_is_host(address), "%s", hosts[i]);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		cr_assert(address_parse(others[i], &address) == 0 && !address_is_host(address), "%s", others[i]);
}

Test(address, prefixes_are_of_one_family)
{
	ip_address four, six;

	cr_assert_eq(address_parse("10.0.0.129", &four), 0);
	cr_assert_eq(address_parse("2001:db8::ff", &six), 0);
	cr_assert(address_shares_prefix(four, 0x0a0000ff, 25) && !address_shares_prefix(four, 0x0a000001, 25));
	cr_assert(address_shares_prefix(four, 1, 0) && !address_shares_prefix(four, six, 0));
	cr_assert(address_shares_prefix(six, six ^ 1, 127) && !address_shares_prefix(six, six ^ 1, 128));
}
