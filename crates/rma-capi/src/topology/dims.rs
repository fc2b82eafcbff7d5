//! Dimensions of a grid for a number of ranks (`MPI_Dims_create`, MPI 5.0 §8.5.2).

use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

/// Fills in the dimensions that are 0, as close to each other as divisors are, from the largest to the smallest: of all products
/// of the ranks, the one whose largest factor is least, then the second largest, and so on.
///
/// # Errors
/// `MPI_ERR_DIMS` when a dimension is negative, or those that are given do not divide the number of ranks.
pub(crate) fn balance(nnodes: c_int, dims: &mut [c_int]) -> Result<()> {
    let refuse = |cause: String| Err(Error::new(ErrorClass::Dims, "", cause));
    let Some(nodes) = u64::try_from(nnodes).ok().filter(|nodes| *nodes > 0) else {
        return refuse(format!("nnodes is {nnodes}, but must be positive"));
    };
    if let Some(place) = dims.iter().position(|dim| *dim < 0) {
        return refuse(format!("dims[{place}] is {}, but must not be negative", dims[place]));
    }
    let given = dims.iter().filter(|dim| **dim > 0).fold(1u64, |all, dim| all.saturating_mul(*dim as u64));
    let free = dims.iter().filter(|dim| **dim == 0).count();
    if !nodes.is_multiple_of(given) || (free == 0 && nodes != given) {
        return refuse(format!(
            "nnodes is {nodes}, of which the dimensions that are given, {given}, are no divisor"
        ));
    }
    let rest = nodes / given;
    let divisors: Vec<u64> = (1..=rest.isqrt()).filter(|d| rest.is_multiple_of(*d)).collect();
    let mut all: Vec<u64> = divisors.iter().copied().chain(divisors.iter().map(|d| rest / d)).collect();
    all.sort_unstable();
    all.dedup();
    let mut factors = Vec::new();
    // The largest may be all there is, so there are some.
    part(rest, free, rest, &all, &mut factors);
    let places = dims.iter_mut().filter(|dim| **dim == 0);
    places.zip(factors).for_each(|(dim, factor)| *dim = factor as c_int);
    Ok(())
}

/// Parts a number into factors of at most `most`; `false` when there are none.
fn part(number: u64, factors: usize, most: u64, divisors: &[u64], parts: &mut Vec<u64>) -> bool {
    if factors == 0 {
        return number == 1;
    }
    for factor in divisors.iter().copied().filter(|d| *d <= most && number.is_multiple_of(*d)) {
        let is_enough = factor.checked_pow(factors as u32).is_none_or(|power| power >= number);
        if is_enough {
            parts.push(factor);
            if part(number / factor, factors - 1, factor, divisors, parts) {
                return true;
            }
            parts.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_balanced() {
        for (nodes, dims, balanced) in [
            (6, vec![0, 0], vec![3, 2]),
            (7, vec![0, 0], vec![7, 1]),
            (6, vec![0, 3, 0], vec![2, 3, 1]),
            (24, vec![0, 0, 0], vec![4, 3, 2]),
            (64, vec![0, 0, 0], vec![4, 4, 4]),
            (16, vec![0, 0, 0], vec![4, 2, 2]),
            (60, vec![0, 0, 0], vec![5, 4, 3]),
            (1, vec![0; 20], vec![1; 20]),
            (1 << 20, vec![0; 20], vec![2; 20]),
            (i32::MAX, vec![0, 0], vec![i32::MAX, 1]),
            (12, vec![4, 3], vec![4, 3]),
            (1, vec![], vec![]),
        ] {
            let mut found = dims.clone();
            balance(nodes, &mut found).unwrap();
            assert_eq!(found.iter().map(|dim| i64::from(*dim)).product::<i64>(), i64::from(nodes));
            assert_eq!(found, balanced, "{nodes} {dims:?}");
            assert!(dims.contains(&3) || found.is_sorted_by(|a, b| a >= b), "{found:?}");
        }
    }

    #[test]
    fn what_does_not_divide_is_refused() {
        for (nodes, mut dims) in
            [(7, vec![0, 3, 0]), (6, vec![3]), (0, vec![0]), (-4, vec![0]), (4, vec![-1, 0]), (2, vec![])]
        {
            assert_eq!(balance(nodes, &mut dims).unwrap_err().class(), ErrorClass::Dims, "{nodes} {dims:?}");
        }
    }
}
