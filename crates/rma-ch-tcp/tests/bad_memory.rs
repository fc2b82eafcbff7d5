//! Memory of this process that cannot be accessed is told as what it is, not as the end of a peer.

mod common;

use common::{Rank, drive, half, ranks};
use rma_ch_tcp::TcpConfig;
use rma_core::channel::{BulkToken, FailureKind, Lane};
use rma_core::ids::Peer;

/// More than any buffer of the channel, in each half.
const LEN: usize = 1 << 20;

static BODY: [u8; LEN] = [7; LEN];

/// The rank's only failure is of `peer`, and names memory in the second half of what begins at `start`.
fn expect(rank: &Rank, peer: u32, start: usize, access: &str) {
    let [(failed, failure)] = &rank.log.failed[..] else { panic!("{:?}", rank.log.failed) };
    assert_eq!((*failed, failure.kind), (Peer(peer), FailureKind::Unreachable));
    let says = format!("process {peer} is cut off by an error of this process: the ");
    let rest = failure.detail.strip_prefix(&says).unwrap_or_else(|| panic!("{failure}"));
    let (len, rest) = rest.split_once(" bytes at 0x").unwrap();
    let (at, rest) = rest.split_once(' ').unwrap();
    let (len, at): (usize, _) = (len.parse().unwrap(), usize::from_str_radix(at, 16).unwrap());
    assert!(start <= at && at + len <= start + LEN && at + len > start + LEN / 2, "{failure}");
    assert!(rest.contains(&format!("cannot be {access} (EFAULT)")), "{failure}");
}

#[test]
fn a_body_that_cannot_be_read_is_named() {
    let mut ranks = ranks(2, &TcpConfig::default());
    let (bad, _) = half(LEN);
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    ranks[0].send_span(1, Lane::Request, bad, 2);
    drive(&mut ranks, "the report", |r| !r[0].log.failed.is_empty());
    assert_eq!(ranks[0].log.sent, [BulkToken(1), BulkToken(2)], "each body is given back");
    expect(&ranks[0], 1, bad.as_ptr() as usize, "read");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let mut ranks = ranks(2, &TcpConfig::default());
    let (start, bad) = half(LEN);
    ranks[1].log.place = Some(bad);
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    drive(&mut ranks, "the report", |r| !r[1].log.failed.is_empty());
    expect(&ranks[1], 0, start.as_ptr() as usize, "written");
}
