//! Links and link targets of a page of Markdown.

use std::collections::{BTreeSet, HashMap};

use pulldown_cmark::{BrokenLink, Event, LinkType, Options, Parser, Tag, TagEnd};

/// One page.
#[derive(Default)]
pub struct Page {
    /// Targets of its links and pictures, as written. A reference without a definition is among them as
    /// `[name]`, which is no file.
    pub links: Vec<String>,
    /// Possible anchors after a `#`.
    pub anchors: BTreeSet<String>,
    /// Code in the middle of a sentence.
    pub codes: Vec<String>,
}

impl Page {
    /// Reads it as GitHub does: with tables, and an anchor for each heading.
    pub fn read(text: &str) -> Self {
        let mut undefined = Vec::new();
        let mut remember = |link: BrokenLink<'_>| {
            // `[a]` alone may be no link at all.
            if link.link_type == LinkType::Reference {
                undefined.push(format!("[{}]", link.reference));
            }
            None
        };
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        let parser = Parser::new_with_broken_link_callback(text, options, Some(&mut remember));
        let mut page = Self::default();
        let mut seen = HashMap::new();
        let mut heading = None;
        for event in parser {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = slug(&heading.take().unwrap_or_default());
                    page.anchors.insert(once_more(anchor, &mut seen));
                }
                Event::Text(words) => append(&mut heading, &words),
                Event::Code(words) => {
                    append(&mut heading, &words);
                    page.codes.push(words.into_string());
                }
                _ => {}
            }
        }
        page.links.extend(undefined);
        page
    }
}

fn append(heading: &mut Option<String>, words: &str) {
    if let Some(heading) = heading {
        heading.push_str(words);
    }
}

/// Returns the anchor of a heading: small letters and digits, with `-` for each space.
fn slug(heading: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || "-_ ".contains(letter);
    heading
        .trim()
        .to_lowercase()
        .replace(|letter| !kept(letter), "")
        .replace(' ', "-")
}

/// Makes a repeated anchor unique: the second heading of the same words gets `-1`, and so on.
fn once_more(anchor: String, seen: &mut HashMap<String, usize>) -> String {
    let times = seen.entry(anchor.clone()).or_default();
    *times += 1;
    if *times == 1 {
        anchor
    } else {
        format!("{anchor}-{}", *times - 1)
    }
}
