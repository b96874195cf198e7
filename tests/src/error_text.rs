//! Errors for readers.

/// Returns an error and its causes, each once: many errors repeat their causes themselves.
#[must_use]
pub fn in_full(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn every_cause_is_said_once() {
        let error = anyhow!("no such file")
            .context("reading x: no such file")
            .context("starting");
        assert_eq!(in_full(&error), "starting: reading x: no such file");
    }
}
