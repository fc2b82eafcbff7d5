//! Numbers as people read them.

use super::cases::Measure;

/// Three digits that say something: `1.61`, `16.1`, `161`.
fn digits(value: f64) -> String {
    match value {
        _ if value >= 99.95 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fitting = units.iter().rev().find(|(size, _)| value >= 0.9995 * size);
    let (size, unit) = fitting.copied().unwrap_or(units[0]);
    format!("{} {unit}", digits(value / size))
}

/// A time in nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    scaled(ns, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
}

/// Operations per second.
pub(crate) fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")])
}

/// A part of a core, from nanoseconds per second.
pub(crate) fn share(ns: f64) -> String {
    format!("{} %", digits(ns / 1e7))
}

/// Bytes per second.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, &[(1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")])
}

/// A length in bytes, for powers of two.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        _ if count >= 1 << 30 => format!("{} GiB", count >> 30),
        _ if count >= 1 << 20 => format!("{} MiB", count >> 20),
        _ if count >= 1 << 10 => format!("{} KiB", count >> 10),
        _ => format!("{count} B"),
    }
}

/// A quotient.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        _ if value < 0.0995 => format!("{value:.3} ×"),
        _ => format!("{} ×", digits(value)),
    }
}

/// What a measure makes of a time in nanoseconds for so many operations of so many bytes.
pub(crate) fn show(measure: Measure, ns: f64, operations: u64, size: u64) -> String {
    match measure {
        Measure::Time => time(ns),
        Measure::Rate => rate(operations as f64 / ns * 1e9),
        Measure::Bandwidth => bandwidth((operations * size) as f64 / ns * 1e9),
        Measure::Share => share(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let times = [
            (0.42, "0.42 ns"),
            (18.04, "18.0 ns"),
            (999.7, "1.00 µs"),
            (1610.0, "1.61 µs"),
            (1.9e8, "190 ms"),
        ];
        times.iter().for_each(|(ns, text)| assert_eq!(time(*ns), *text));
        assert_eq!(rate(79.6e6), "79.6 M/s");
        assert_eq!(rate(227.4), "227 /s");
        assert_eq!(bandwidth(14.34e9), "14.3 GB/s");
        assert_eq!(bytes(4 << 20), "4 MiB");
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(share(4.2e6), "0.42 %");
        assert_eq!(bytes(512), "512 B");
        assert_eq!([0.5, 12.0, 0.0042].map(ratio), ["0.50 ×", "12.0 ×", "0.004 ×"]);
    }

    #[test]
    fn measures_are_made_of_times() {
        assert_eq!(show(Measure::Time, 20.0, 1, 8), "20.0 ns");
        assert_eq!(show(Measure::Rate, 1e4, 1000, 8), "100 M/s");
        assert_eq!(show(Measure::Bandwidth, 1e6, 1, 4 << 20), "4.19 GB/s");
    }
}
