//! The namespace that commands in hints refer to.

/// Namespace that a command has to name, so that it means the same Runnable when the user calls it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    namespace: Option<String>,
}

impl Place {
    /// Makes a place of a namespace; commands without `-n` mean `default`.
    pub(crate) fn new(namespace: &str, default: &str) -> Self {
        Self {
            namespace: (namespace != default).then(|| namespace.to_owned()),
        }
    }

    /// Returns the command as the user calls it, such as `cartouche why hello -n shop`.
    pub(crate) fn command(&self, command: &str) -> String {
        match &self.namespace {
            None => format!("cartouche {command}"),
            Some(namespace) => format!("cartouche {command} -n {namespace}"),
        }
    }

    /// Adds the Runnable's name to the commands in general advice, such as `cartouche rerun`.
    pub(crate) fn for_runnable(&self, advice: &str, name: &str) -> String {
        let commands = [
            "approve",
            "logs",
            "logs --follow",
            "rerun",
            "resume",
            "cancel",
        ];
        commands.iter().fold(advice.to_owned(), |text, command| {
            let named = match command.split_once(' ') {
                None => format!("{command} {name}"),
                Some((command, options)) => format!("{command} {name} {options}"),
            };
            let named = self.command(&named);
            text.replace(&format!("`cartouche {command}`"), &format!("`{named}`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_namespace_unless_it_is_the_one_that_is_meant_anyway() {
        let default = Place::new("demo", "demo");
        assert_eq!(default.command("why hello"), "cartouche why hello");
        let other = Place::new("shop", "demo");
        assert_eq!(other.command("why hello"), "cartouche why hello -n shop");
    }

    #[test]
    fn advice_names_the_runnable() {
        let advice = "`cartouche logs`, `cartouche logs --follow`, or run again: `cartouche rerun`";
        assert_eq!(
            Place::new("shop", "demo").for_runnable(advice, "hello"),
            "`cartouche logs hello -n shop`, `cartouche logs hello --follow -n shop`, or run again: `cartouche rerun hello -n shop`"
        );
    }
}
