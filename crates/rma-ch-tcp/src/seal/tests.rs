//! Records through a socket that cuts them anywhere, and records that are not those that were sent.

use super::*;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

const KEY: [u8; 32] = [5; 32];

/// Seals each piece.
fn records(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut sealer = Sealer::new(&KEY);
    let seal = |piece: &&[u8]| {
        sealer.room()[..piece.len()].copy_from_slice(piece);
        sealer.seal(piece.len());
        let record = sealer.waiting().to_vec();
        sealer.sent(record.len());
        record
    };
    pieces.iter().map(seal).collect()
}

/// What comes out when the bytes arrive in steps of `step`, with what there is of an error.
fn open(key: &[u8; 32], bytes: &[u8], step: usize) -> (Vec<u8>, Result<(), Forged>) {
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let mut opener = Opener::new(key);
    let mut out = Vec::new();
    for arriving in bytes.chunks(step) {
        far.write_all(arriving).unwrap();
        loop {
            match opener.opened() {
                Err(forged) => return (out, Err(forged)),
                Ok([]) => {}
                Ok(opened) => {
                    // Never all at once.
                    let len = opened.len().div_ceil(2);
                    out.extend(&opened[..len]);
                    opener.took(len);
                    continue;
                }
            }
            if opener.receive(near.as_fd()).is_err() {
                break;
            }
        }
        assert!(opener.is_drained() || opener.may_have_more());
    }
    (out, Ok(()))
}

#[test]
fn a_stream_comes_out_as_it_went_in_however_it_is_cut() {
    let long: Vec<u8> = (0..PIECE).map(|at| (at * 7 + at / 251) as u8).collect();
    let pieces: [&[u8]; 5] = [b"a", &long, b"bc", &long[..1000], b"end"];
    let stream = records(&pieces).concat();
    for step in [1, 7, HEADER, HEADER + 1, 999, 4096, stream.len()] {
        let (out, result) = open(&KEY, &stream, step);
        assert_eq!(result, Ok(()), "in steps of {step}");
        assert!(out == pieces.concat(), "in steps of {step}");
    }
}

#[test]
fn a_changed_bit_is_found_wherever_it_is_and_nothing_of_the_record_comes_out() {
    let records = records(&[b"before", b"changed", b"behind"]);
    assert_eq!(records[1].len(), HEADER + 7 + TAG);
    for bit in 0..records[1].len() * 8 {
        let mut changed = records[1].clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // Without the record behind it: what says that it is longer is not waited for.
        let (out, result) = open(&KEY, &[&records[0][..], &changed].concat(), 1000);
        assert_eq!((&out[..], result), (&b"before"[..], Err(Forged { record: 1 })), "bit {bit}");
    }
}

#[test]
fn a_record_holds_in_its_place_only() {
    let records = records(&[b"one", b"two", b"six"]);
    let cases: [(&str, &[usize], u64, &[u8]); 5] = [
        ("repeated", &[0, 0, 1, 2], 1, b"one"),
        ("swapped", &[0, 2, 1], 1, b"one"),
        ("left out", &[0, 2], 1, b"one"),
        ("the first left out", &[1, 2], 0, b""),
        ("an old one put in", &[0, 1, 0, 2], 2, b"onetwo"),
    ];
    for (name, order, record, before) in cases {
        let stream: Vec<u8> = order.iter().flat_map(|at| records[*at].clone()).collect();
        assert_eq!(open(&KEY, &stream, 1000), (before.to_vec(), Err(Forged { record })), "{name}");
    }
    // Headers and pieces do not go together otherwise, also of one length.
    let mixed = [&records[0][..HEADER], &records[1][HEADER..]].concat();
    assert_eq!(open(&KEY, &mixed, 1000), (Vec::new(), Err(Forged { record: 0 })));
    // Nor is a length a piece, though it has as many bytes and a right tag.
    let [four] = &self::records(&[b"four"])[..] else { unreachable!() };
    let twice = [&four[..HEADER], &four[..HEADER]].concat();
    assert_eq!(open(&KEY, &twice, 1000), (Vec::new(), Err(Forged { record: 0 })));
    // What another direction or connection sends has another key.
    assert_eq!(open(&[6; 32], &records.concat(), 1000), (Vec::new(), Err(Forged { record: 0 })));
}

#[test]
fn nothing_of_a_record_comes_out_before_its_end() {
    let record = records(&[b"a piece"]).concat();
    for end in 0..record.len() {
        assert_eq!(open(&KEY, &record[..end], 1000), (Vec::new(), Ok(())), "{end} bytes");
    }
}

#[test]
fn a_length_that_no_sealer_writes_is_refused_with_the_right_tag_too() {
    for len in [0, PIECE as u32 + 1, u32::MAX] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&len.to_le_bytes());
        Tags::new(&KEY).write(Of::Length, &len.to_le_bytes(), &mut header[4..]);
        assert_eq!(open(&KEY, &header, 1000), (Vec::new(), Err(Forged { record: 0 })));
    }
}

#[test]
fn keys_do_not_print() {
    let keys = Keys { send: [0xab; 32], receive: [0xcd; 32] };
    let text = format!("{keys:?} {:?} {:?}", Sealer::new(&keys.send), Opener::new(&keys.receive));
    assert!(!text.contains("171") && !text.contains("205"), "{text}");
}
