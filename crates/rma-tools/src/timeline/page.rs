//! The page: `page.html` with a timeline in it.

use super::events::{Kind, Row, Timeline};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

const TEMPLATE: &str = include_str!("page.html");

/// A page that needs nothing else.
pub(super) fn show(title: &str, timeline: &Timeline, tables: &str) -> String {
    let mut page = String::new();
    let mut rest = TEMPLATE;
    // One after the other, so that nothing is looked for in what was put in.
    for (mark, text) in
        [("@TITLE@", escaped(title)), ("@TABLES@", escaped(tables)), ("@DATA@", data(timeline))]
    {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page += before;
        page += &text;
        rest = after;
    }
    page + rest
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// What the script reads: texts, lines with their heights, and items of numbers that stand for them.
fn data(timeline: &Timeline) -> String {
    let mut heights = BTreeMap::<Row, usize>::new();
    for item in &timeline.items {
        let height = heights.entry(item.row).or_default();
        *height = item.depth.max(*height);
    }
    let places = heights.keys().zip(0..).collect::<HashMap<_, usize>>();
    let mut texts = Vec::new();
    let mut numbers = HashMap::new();
    let mut number = |text: &str| match numbers.get(text) {
        Some(number) => *number,
        None => {
            texts.push(text.to_owned());
            numbers.insert(text.to_owned(), texts.len() - 1);
            texts.len() - 1
        }
    };
    let mut items = Vec::with_capacity(timeline.items.len());
    for item in &timeline.items {
        let kind = match item.kind {
            Kind::Call => 0,
            Kind::Wait => 1,
            Kind::Direct(_) | Kind::Mark => 2,
        };
        let (name, about) = (number(&item.name), number(&item.about));
        items.push(json!([places[&item.row], item.depth, kind, name, about, item.begin_us, item.len_us]));
    }
    let rows = heights.iter().map(|((rank, thread), height)| {
        let name = timeline.names.get(rank).cloned().unwrap_or_else(|| format!("rank {rank}"));
        json!([format!("{name}, thread {thread}"), height + 1])
    });
    let data = json!({ "rows": rows.collect::<Vec<_>>(), "texts": texts, "items": items });
    // So that no text ends the script.
    data.to_string().replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::SAMPLE;
    use super::*;

    #[test]
    fn the_page_needs_nothing_else() {
        let timeline = Timeline::read(SAMPLE.as_bytes()).unwrap();
        let page = show("a & <b>", &timeline, "1 < 2 @DATA@");
        assert!(page.contains("<title>a &amp; &lt;b></title>") && page.contains("1 &lt; 2 @DATA@"));
        assert!(
            page.contains("rank 0 of 2 (a, pid 7), thread 1")
                && page.contains("rank 1 to enter \\u003c/script>")
        );
        assert_eq!(page.matches("</script>").count(), 1);
        for foreign in ["http", "src=", "href=", "import"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}
