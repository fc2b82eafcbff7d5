//! Which processes a process tells of what may concern any: those at a distance of a power of two, in either direction. Collectives make
//! contact with them anyway, and what each of them passes on reaches all. A process that is not near has to greet.

/// The numbers of the processes near `me`, of so many.
pub(crate) fn near(me: u32, size: u32) -> impl Iterator<Item = u32> {
    let (me, size) = (u64::from(me), u64::from(size));
    let distances = (0..u32::BITS).map(|bit| 1u64 << bit).take_while(move |distance| *distance < size);
    let near = distances.flat_map(move |distance| [(me + distance) % size, (me + size - distance) % size]);
    near.map(|peer| peer as u32)
}

/// Whether one process is near another.
pub(super) fn are_near(one: u32, other: u32, size: u32) -> bool {
    let distance = one.abs_diff(other);
    distance.is_power_of_two() || size.abs_diff(distance).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_processes_are_those_that_are_named() {
        for size in 1..20 {
            for me in 0..size {
                let named: Vec<_> = near(me, size).collect();
                let others = (0..size).filter(|other| *other != me);
                others.for_each(|other| assert_eq!(named.contains(&other), are_near(me, other, size)));
                assert!(!named.contains(&me));
            }
        }
    }
}
