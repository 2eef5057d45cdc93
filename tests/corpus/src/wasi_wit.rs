//! The parts of WASI 0.2 that members import, in WIT.

/// `wasi:io`
pub(crate) const IO: &str = "package wasi:io@0.2.0;
interface poll { resource pollable { block: func(); } }
interface error { resource error; }
interface streams {
  use error.{error};
  variant stream-error { last-operation-failed(error), closed }
  resource output-stream {
    blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
  }
  resource input-stream {
    blocking-read: func(len: u64) -> result<list<u8>, stream-error>;
  }
}";

/// `wasi:clocks`
pub(crate) const CLOCKS: &str = "package wasi:clocks@0.2.0;
interface monotonic-clock {
  use wasi:io/poll@0.2.0.{pollable};
  now: func() -> u64;
  subscribe-duration: func(when: u64) -> pollable;
}
interface wall-clock {
  record datetime { seconds: u64, nanoseconds: u32 }
  now: func() -> datetime;
}";

/// `wasi:random`
pub(crate) const RANDOM: &str = "package wasi:random@0.2.0;
interface random {
  get-random-bytes: func(len: u64) -> list<u8>;
  get-random-u64: func() -> u64;
}";

/// `wasi:filesystem`
pub(crate) const FILESYSTEM: &str = "package wasi:filesystem@0.2.0;
interface types { resource descriptor; }
interface preopens {
  use types.{descriptor};
  get-directories: func() -> list<tuple<descriptor, string>>;
}";

/// `wasi:sockets`
pub(crate) const SOCKETS: &str = "package wasi:sockets@0.2.0;
interface network {
  resource network;
  enum error-code {
    unknown, access-denied, not-supported, invalid-argument, out-of-memory, timeout,
    concurrency-conflict, not-in-progress, would-block, invalid-state, new-socket-limit,
    address-not-bindable, address-in-use, remote-unreachable, connection-refused,
    connection-reset, connection-aborted, datagram-too-large, name-unresolvable,
    temporary-resolver-failure, permanent-resolver-failure,
  }
  enum ip-address-family { ipv4, ipv6 }
  record ipv4-socket-address { port: u16, address: tuple<u8, u8, u8, u8> }
  record ipv6-socket-address {
    port: u16, flow-info: u32, address: tuple<u16, u16, u16, u16, u16, u16, u16, u16>, scope-id: u32,
  }
  variant ip-socket-address { ipv4(ipv4-socket-address), ipv6(ipv6-socket-address) }
}
interface instance-network {
  use network.{network};
  instance-network: func() -> network;
}
interface tcp {
  use network.{network, error-code, ip-socket-address};
  resource tcp-socket {
    start-connect: func(network: borrow<network>, remote-address: ip-socket-address) -> result<_, error-code>;
  }
}
interface tcp-create-socket {
  use network.{error-code, ip-address-family};
  use tcp.{tcp-socket};
  create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
}
interface udp { resource udp-socket; }
interface udp-create-socket {
  use network.{error-code, ip-address-family};
  use udp.{udp-socket};
  create-udp-socket: func(address-family: ip-address-family) -> result<udp-socket, error-code>;
}
interface ip-name-lookup {
  use network.{network, error-code};
  resource resolve-address-stream;
  resolve-addresses: func(network: borrow<network>, name: string) -> result<resolve-address-stream, error-code>;
}";

/// `wasi:cli`
pub(crate) const CLI: &str = "package wasi:cli@0.2.0;
interface environment {
  get-environment: func() -> list<tuple<string, string>>;
  get-arguments: func() -> list<string>;
  initial-cwd: func() -> option<string>;
}
interface exit { exit: func(status: result); }
interface stdout {
  use wasi:io/streams@0.2.0.{output-stream};
  get-stdout: func() -> output-stream;
}
interface stdin {
  use wasi:io/streams@0.2.0.{input-stream};
  get-stdin: func() -> input-stream;
}";

/// `wasi:http`, which no plugin may have. The types do not matter: nothing gets as far as them.
pub(crate) const HTTP: &str = "package wasi:http@0.2.0;
interface outgoing-handler { handle: func(); }";
