//! How large the processor's last cache is, and which family of its maker it belongs to, as it says itself.

use std::arch::x86_64::{__cpuid_count, CpuidResult};

/// Leaves of `cpuid` that list the caches, one per subleaf, in the same form: Intel's and AMD's.
const CACHE_LEAVES: [(u32, u32); 2] = [(0, 4), (0x8000_0000, 0x8000_001D)];
const LAST_LEVEL: u32 = 3;

/// Bytes of the third-level cache, as the processor reports it.
pub(super) fn last_cache_bytes() -> Option<usize> {
    CACHE_LEAVES.into_iter().filter(|(base, leaf)| cpuid(*base, 0).eax >= *leaf).find_map(|(_, leaf)| {
        // The list ends with a cache of no type; a processor that does not know the leaf answers zeros.
        let caches = (0..16).map(|index| cpuid(leaf, index)).take_while(|cache| cache.eax & 0x1F != 0);
        caches.filter(|cache| cache.eax >> 5 & 0x7 == LAST_LEVEL).find_map(bytes_of)
    })
}

/// The family of a processor of AMD: 19h is Zen 3 and Zen 4, 1Ah is Zen 5.
pub(super) fn amd_family() -> Option<u32> {
    let version = cpuid(1, 0).eax;
    let is_amd = cpuid(0, 0).ebx == u32::from_le_bytes(*b"Auth");
    is_amd.then(|| (version >> 8 & 0xf) + (version >> 20 & 0xff))
}

/// Ways times partitions times bytes of a line times sets; each field is one less than its number.
fn bytes_of(cache: CpuidResult) -> Option<usize> {
    let field = |shift: u32, bits: u32| (cache.ebx >> shift & ((1 << bits) - 1)) as usize + 1;
    let line = field(0, 12).checked_mul(field(12, 10))?.checked_mul(field(22, 10))?;
    line.checked_mul(cache.ecx as usize + 1)
}

// Newer compilers take the intrinsic for safe.
#[allow(unused_unsafe)]
fn cpuid(leaf: u32, subleaf: u32) -> CpuidResult {
    // SAFETY: every processor of 64 bits has the instruction, and it changes nothing but its results.
    unsafe { __cpuid_count(leaf, subleaf) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cache_is_as_large_as_the_system_says() {
        let Ok(size) = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size") else {
            return;
        };
        let kib: usize = size.trim().strip_suffix('K').unwrap().parse().unwrap();
        // Older processors have leaves of another form, which the system reads.
        if let Some(bytes) = last_cache_bytes() {
            assert_eq!(bytes, kib << 10);
        }
    }

    #[test]
    fn a_cache_is_ways_partitions_lines_and_sets() {
        // 16 ways, one partition, lines of 64 bytes, 32,768 sets.
        let cache = CpuidResult { eax: 0x63, ebx: 15 << 22 | 63, ecx: 32767, edx: 0 };
        assert_eq!(bytes_of(cache), Some(32 << 20));
    }
}
