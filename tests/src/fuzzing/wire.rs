//! One-sided packets: whatever is accepted can be written again, means the same then, and names memory that can be walked.

use rma_core::wire::{Area, Request, Response, check_header};

/// Reads the bytes as a packet of either lane.
///
/// # Panics
/// When what was read is not what is written.
pub fn wire(bytes: &[u8]) {
    let _ = check_header(bytes);
    let is_nudge = Response::is_nudge(bytes);
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
        let _ = request.to_string();
    }
    if let Ok((response, data)) = Response::parse(bytes) {
        assert!(!is_nudge);
        let mut again = response.emit();
        again.extend_from_slice(data);
        assert_eq!(Response::parse(&again), Ok((response, data)));
        let _ = response.to_string();
    }
}
