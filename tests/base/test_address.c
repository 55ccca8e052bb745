/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>

#include <base/address.h>

Test(address, is_read_strictly_and_printed)
{
	uint8_t mac[ADDRESS_MAC_BYTES];
	uint32_t address;
	char text[ADDRESS_MAC_TEXT_BYTES];

	cr_assert_eq(address_parse_mac("02:aB:00:00:00:fF", mac), 0);
	address_print_mac(mac, text);
	cr_assert_str_eq(text, "02:ab:00:00:00:ff");
	cr_assert_eq(address_parse_mac("02:ab:00:00:00", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("02:ab:00:00:00:ff:", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("02-ab-00-00-00-ff", mac), -EINVAL);
	cr_assert_eq(address_parse_mac("", mac), -EINVAL);
	cr_assert_eq(address_parse_ipv4("10.1.2.3", &address), 0);
	address_print_ipv4(address, text);
	cr_assert_str_eq(text, "10.1.2.3");
	cr_assert_eq(address_parse_ipv4("10.1.2", &address), -EINVAL);
	cr_assert_eq(address_parse_ipv4("10.1.2.300", &address), -EINVAL);
}
