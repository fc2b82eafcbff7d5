//! A variable of our library as `rma-info --json` tells it, and the values worth a measurement.

use serde_json::Value;

/// A variable that has numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) default: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) unit: String,
    pub(super) text: String,
}

/// From one value to the next one.
const STEP: u64 = 4;
/// Values tried below the default, and above it.
const BELOW: u32 = 3;
const ABOVE: u32 = 2;

impl Variable {
    /// Finds it in what `rma-info --json` prints, or says why it cannot be varied.
    pub(super) fn find(listing: &Value, name: &str) -> Result<Self, String> {
        let all = listing["variables"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let Some(row) = all.iter().find(|row| row["name"] == name) else {
            let names: Vec<String> = all.iter().map(|row| text(row, "name")).collect();
            return Err(format!("no variable is called {name}; there are {}", names.join(", ")));
        };
        let range = text(row, "range");
        let no_numbers = || format!("{name} has no numbers to try: its values are {range}");
        if text(row, "unit") == "word" {
            return Err(no_numbers());
        }
        let mut bounds = range.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let low = bounds.next().ok_or_else(no_numbers)?;
        let default = text(row, "default").parse().map_err(|_| no_numbers())?;
        let high = bounds.next().unwrap_or(u64::MAX);
        Ok(Self {
            name: name.to_owned(),
            default,
            low,
            high,
            unit: text(row, "unit"),
            text: text(row, "text"),
        })
    }

    /// The values to try: those asked for, or some around the default; ascending, with the default among them.
    pub(super) fn values(&self, asked: &[u64]) -> Result<Vec<u64>, String> {
        if let Some(bad) = asked.iter().find(|value| !(self.low..=self.high).contains(value)) {
            return Err(format!(
                "{bad} is no value of {}: it goes from {} to {}",
                self.name, self.low, self.high
            ));
        }
        let mut values = if asked.is_empty() { self.around() } else { asked.to_vec() };
        values.push(self.default);
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    /// Steps of a factor around the default; a default of 0 has no factor, and stands for a choice of the system.
    fn around(&self) -> Vec<u64> {
        let middle = match (self.default, self.unit.as_str()) {
            (0, "bytes") => 1 << 16,
            (0, _) => STEP,
            (default, _) => default,
        };
        let below = (0..=BELOW).map(|step| middle / STEP.pow(step));
        let above = (1..=ABOVE).map(|step| middle.saturating_mul(STEP.pow(step)));
        below.chain(above).map(|value| value.clamp(self.low, self.high)).collect()
    }

    /// A value with its unit, as a label.
    pub(super) fn label(&self, value: u64) -> String {
        match (self.unit.as_str(), value) {
            ("bytes", 1..) if value.is_multiple_of(1 << 20) => format!("{}M", value >> 20),
            ("bytes", 1..) if value.is_multiple_of(1 << 10) => format!("{}K", value >> 10),
            _ => value.to_string(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    fn listing() -> Value {
        let row = |name: &str, default: &str, range: &str, unit: &str| {
            let text = "t";
            json!({"name": name, "default": default, "range": range, "unit": unit, "text": text})
        };
        json!({"variables": [
            row("RMA_CHANNEL", "auto", "auto, shm, tcp", "word"),
            row("RMA_SPIN", "30", "from 0 to 1000000", "\u{b5}s"),
            row("RMA_AGENT", "0", "0 or 1", "0 or 1"),
            row("RMA_TCP_SOCKET_BYTES", "0", "from 0 to 1073741824", "bytes"),
            row("RMA_LISTEN", "auto", "auto, or an address such as 10.0.0.1", "word"),
        ]})
    }

    pub(in super::super) fn variable(name: &str) -> Variable {
        Variable::find(&listing(), name).unwrap()
    }

    #[test]
    fn values_lie_around_the_default_and_within_the_range() {
        assert_eq!(variable("RMA_SPIN").values(&[]).unwrap(), [0, 1, 7, 30, 120, 480]);
        assert_eq!(variable("RMA_AGENT").values(&[]).unwrap(), [0, 1]);
        let socket = variable("RMA_TCP_SOCKET_BYTES");
        assert_eq!(socket.values(&[]).unwrap(), [0, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20]);
        assert_eq!(socket.values(&[65536]).unwrap(), [0, 65536]);
        assert_eq!([0, 1000, 4096, 1 << 20].map(|value| socket.label(value)), ["0", "1000", "4K", "1M"]);
    }

    #[test]
    fn what_cannot_be_varied_says_why() {
        let error = |name: &str| Variable::find(&listing(), name).unwrap_err();
        assert!(
            error("RMA_SPINN").contains("no variable is called RMA_SPINN; there are RMA_CHANNEL, RMA_SPIN")
        );
        assert_eq!(error("RMA_CHANNEL"), "RMA_CHANNEL has no numbers to try: its values are auto, shm, tcp");
        assert!(error("RMA_LISTEN").contains("no numbers"));
        let outside = variable("RMA_SPIN").values(&[5, 1_000_001]).unwrap_err();
        assert_eq!(outside, "1000001 is no value of RMA_SPIN: it goes from 0 to 1000000");
    }
}
