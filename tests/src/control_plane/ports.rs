//! Free ports that stay free.

use std::{
    collections::BTreeSet,
    io,
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    sync::Mutex,
};

use super::random;

/// Below the ranges that Linux and macOS take the ports of outgoing connections from. So no outgoing
/// connection takes a free port before its server starts, or while it restarts.
const RANGE: Range<u16> = 20_000..32_000;

static HANDED_OUT: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Returns a free port of the loopback interface that was not handed out before.
pub fn free_port() -> io::Result<u16> {
    let mut handed_out = HANDED_OUT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for _ in 0..1000 {
        let [high, low] = random::bytes::<2>()?;
        let port = RANGE.start + u16::from_be_bytes([high, low]) % (RANGE.end - RANGE.start);
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if free && handed_out.insert(port) {
            return Ok(port);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("no free port between {} and {}", RANGE.start, RANGE.end),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_handed_out_twice() {
        let ports: Vec<_> = (0..50).map(|_| free_port().unwrap()).collect();
        let different: BTreeSet<_> = ports.iter().collect();
        assert_eq!(different.len(), ports.len());
    }
}
