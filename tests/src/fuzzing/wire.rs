//! One-sided packets: whatever is accepted can be written again, means the same then, and names memory that can be walked.

use rma_core::wire::{
    Area, PackEntries, PackEntry, Request, RequestKind, Response, VERSION, check_entries, check_header,
};

/// Reads the bytes as a packet of either lane, as they are and as one of this version of the format: what was found before is looked at
/// in each.
///
/// # Panics
/// When what was read is not what is written.
pub fn wire(bytes: &[u8]) {
    read(bytes);
    if let [version, rest @ ..] = bytes
        && *version != VERSION
    {
        read(&[&[VERSION], rest].concat());
    }
}

fn read(bytes: &[u8]) {
    let _ = check_header(bytes);
    let is_wake_up = Response::is_wake_up(bytes);
    if let Ok((request, data)) = Request::parse(bytes) {
        let mut again = request.emit();
        again.extend_from_slice(data);
        assert_eq!(Request::parse(&again), Ok((request.clone(), data)));
        if let Some(Area::Shape { layout, from }) = request.kind.place().map(|place| &place.area) {
            assert!(*from < layout.size());
            let (low, high) = layout.bounds();
            assert!(low < high);
            let mut walk = layout.segments();
            let _ = walk.split_to(*from);
            for _ in 0..100 {
                let Some(segment) = walk.peek() else { break };
                assert!(low <= segment.offset && segment.len <= (high - segment.offset) as u64);
                walk.advance(segment.len);
            }
        }
        if request.kind == RequestKind::Pack && check_entries(data).is_ok() {
            let entry = |entry: PackEntry<'_>| {
                // No entry is longer than 16 bits count, or it would not have been read.
                let head = entry.store.entry_head(entry.disp, entry.data.len() as u16);
                [&head[..], entry.data].concat()
            };
            let again = PackEntries::new(data).flatten().flat_map(entry).collect::<Vec<u8>>();
            assert_eq!(again, data);
        }
        let _ = request.to_string();
    }
    if let Ok((response, data)) = Response::parse(bytes) {
        assert!(!is_wake_up);
        let mut again = response.emit();
        again.extend_from_slice(data);
        assert_eq!(Response::parse(&again), Ok((response, data)));
        let _ = response.to_string();
    }
}
