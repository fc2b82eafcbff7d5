//! Layouts, built by any sequence of constructors, against the list of all their bytes.

use super::choices::Choices;
use rma_core::datatype::{Layout, Loop};

/// Longest list of bytes that is kept.
const LISTED: usize = 3000;
/// How deep parts of layouts go.
const DEEPEST: u32 = 4;

/// A layout, and its bytes in order if they are few.
#[derive(Clone)]
struct Known {
    layout: Layout,
    bytes: Option<Vec<i64>>,
}

/// Builds a layout and walks it.
///
/// # Panics
/// When layout and list differ.
pub fn layouts(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some(known) = build(&mut choices, DEEPEST) else { return };
    let Known { layout, bytes } = known;
    let (low, high) = layout.bounds();
    assert_eq!(low == high, layout.size() == 0);
    let Some(bytes) = bytes else {
        let mut walk = layout.segments();
        let skipped = choices.number() % (layout.size() + 1);
        let front = walk.split_to(skipped);
        assert_eq!((front.remaining(), walk.remaining()), (skipped, layout.size() - skipped));
        if let Some(segment) = walk.peek() {
            assert!(low <= segment.offset && segment.len <= (high - segment.offset) as u64);
        }
        return;
    };
    assert_eq!(layout.size(), bytes.len() as u64);
    if !bytes.is_empty() {
        assert_eq!((low, high - 1), (*bytes.iter().min().unwrap(), *bytes.iter().max().unwrap()));
    }
    let runs = runs_of(&layout);
    assert_eq!(layout.runs(), runs, "the walk has as many runs as the layout says");
    // In steps of any length, cut anywhere.
    let mut back = layout.segments();
    let cut = choices.below(bytes.len() as u64 + 1);
    let mut front = back.split_to(cut);
    let step = 1 + choices.below(40);
    let mut walked = Vec::with_capacity(bytes.len());
    for walk in [&mut front, &mut back] {
        while let Some(segment) = walk.peek() {
            let len = segment.len.min(step);
            walked.extend((0..len as i64).map(|at| segment.offset + at));
            walk.advance(len);
        }
    }
    assert_eq!(walked, bytes);
}

fn runs_of(layout: &Layout) -> u64 {
    let (mut walk, mut runs) = (layout.segments(), 0);
    while let Some(segment) = walk.peek() {
        runs += 1;
        walk.advance(segment.len);
    }
    runs
}

fn build(choices: &mut Choices<'_>, depth: u32) -> Option<Known> {
    if depth == 0 || choices.is_over() {
        return Some(contiguous(choices.below(10)));
    }
    match choices.below(7) {
        0 => Some(contiguous(choices.number() & i64::MAX as u64)),
        1 => {
            let blocks =
                (0..choices.below(12)).map(|_| (choices.signed(), choices.number())).collect::<Vec<_>>();
            let layout = Layout::blocks(blocks.iter().copied())?;
            let bytes = list(blocks.iter().flat_map(|(offset, len)| run(*offset, *len)));
            Some(Known { layout, bytes })
        }
        2 => {
            let inner = build(choices, depth - 1)?;
            let by = choices.signed();
            let layout = inner.layout.shifted(by)?;
            let bytes = inner.bytes.map(|bytes| bytes.into_iter().map(|byte| byte + by).collect());
            Some(Known { layout, bytes })
        }
        3 => {
            let (first, block) = (choices.signed(), choices.number());
            let loops = (0..choices.below(4))
                .map(|_| Loop { count: choices.number(), stride: choices.signed() })
                .collect::<Vec<_>>();
            let layout = Layout::nest(first, block, &loops)?;
            let mut bytes = list(run(first, block));
            for l in loops.iter().rev() {
                bytes = bytes.and_then(|bytes| repeated(&bytes, l.count, l.stride));
            }
            Some(Known { layout, bytes })
        }
        4 => {
            let parts =
                (0..choices.below(6)).map(|_| build(choices, depth - 1)).collect::<Option<Vec<_>>>()?;
            let layout = Layout::sequence(parts.iter().map(|part| part.layout.clone()).collect())?;
            let bytes = parts.iter().map(|part| part.bytes.as_ref()).collect::<Option<Vec<_>>>();
            let bytes = bytes.and_then(|parts| list(parts.into_iter().flatten().copied()));
            Some(Known { layout, bytes })
        }
        5 => {
            // The same part at equal distances, given one by one: comes to a loop.
            let part = build(choices, depth - 1)?;
            let (count, stride) = (choices.below(20), choices.signed());
            let mut parts = Vec::new();
            for at in 0..count as i64 {
                parts.push(part.layout.shifted(stride.checked_mul(at)?)?);
            }
            let layout = Layout::sequence(parts)?;
            let bytes = part.bytes.and_then(|bytes| repeated(&bytes, count, stride));
            Some(Known { layout, bytes })
        }
        _ => {
            let inner = build(choices, depth - 1)?;
            let (count, stride) = (choices.number(), choices.signed());
            let layout = inner.layout.repeated(count, stride)?;
            let bytes = inner.bytes.and_then(|bytes| repeated(&bytes, count, stride));
            Some(Known { layout, bytes })
        }
    }
}

fn contiguous(len: u64) -> Known {
    Known { layout: Layout::contiguous(len), bytes: list(run(0, len)) }
}

fn run(offset: i64, len: u64) -> impl Iterator<Item = i64> {
    (0..len).map(move |at| offset.wrapping_add(at as i64))
}

fn repeated(bytes: &[i64], count: u64, stride: i64) -> Option<Vec<i64>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    if count > LISTED as u64 {
        return None;
    }
    list(
        (0..count as i64)
            .flat_map(|at| bytes.iter().map(move |byte| byte.wrapping_add(stride.wrapping_mul(at)))),
    )
}

/// All of them, if they are few.
fn list(bytes: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
    let bytes = bytes.take(LISTED + 1).collect::<Vec<_>>();
    (bytes.len() <= LISTED).then_some(bytes)
}
