//! Public network addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to the public internet. Excludes loopback, private, link-local,
/// multicast, documentation and reserved addresses. An IPv6 address that embeds an IPv4 address is judged by
/// the latter.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_benchmark = first == 198 && (second == 18 || second == 19);
    let is_protocol = first == 192 && second == 0 && third == 0;
    let is_relay = first == 192 && second == 88 && third == 99;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || first == 0
        || first >= 240
        || is_shared
        || is_benchmark
        || is_protocol
        || is_relay)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4-compatible, unspecified, loopback.
        [0, 0, 0, 0, 0, 0, high, low] => (high != 0 || low > 1) && embedded(high, low),
        // Translation (RFC 6052) and 6to4 embed an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Local translation, discard, Teredo and others of 2001::/23, documentation.
        [0x64, 0xff9b, ..] | [0x100, ..] | [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] => false,
        [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast is 2000::/3; unique local, link-local, site-local and multicast are outside it.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_is_public() {
        let public =
            ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"];
        let others = [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001:0:1::",
            "2001:db8::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
        ];
        let parse = |text: &str| text.parse::<IpAddr>().map(is_public);
        for text in public {
            assert_eq!(parse(text), Ok(true), "{text}");
        }
        for text in others {
            assert_eq!(parse(text), Ok(false), "{text}");
        }
    }
}
