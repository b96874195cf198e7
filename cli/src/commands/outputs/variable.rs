//! Outputs as shell variables. The template gives the names, and a run the values: neither may change what the shell
//! that evaluates them does.

use std::collections::BTreeMap;

use anyhow::bail;
use serde_json::Value;

use super::plain;

/// Variables that shells, loaders, interpreters and the tools of scripts read. A `*` stands for any end of a name.
const READ_BY_PROGRAMS: &[&str] = &[
    // Shells.
    "BASH",
    "BASHOPTS",
    "BASH_*",
    "CDPATH",
    "ENV",
    "EUID",
    "FCEDIT",
    "FPATH",
    "GLOBIGNORE",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "MAILPATH",
    "MODULE_PATH",
    "NULLCMD",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PATH",
    "POSIXLY_CORRECT",
    "PPID",
    "PROMPT",
    "PROMPT2",
    "PROMPT3",
    "PROMPT4",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "READNULLCMD",
    "RPROMPT",
    "RPROMPT2",
    "RPS1",
    "RPS2",
    "SHELL",
    "SHELLOPTS",
    "SPROMPT",
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "TMOUT",
    "UID",
    "ZDOTDIR",
    "_",
    // Loader and C library.
    "DYLD_*",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LD_*",
    "LOCPATH",
    "NLSPATH",
    "TERM",
    "TERMCAP",
    "TERMINFO",
    "TERMINFO_DIRS",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "TEMP",
    "TMP",
    "TMPDIR",
    "XDG_*",
    // Interpreters.
    "CLASSPATH",
    "DOTNET_*",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5*",
    "PERLLIB",
    "PYTHON*",
    "RUBY*",
    "_JAVA_OPTIONS",
    // Tools of scripts: programs that they start, trust and network settings.
    "ALL_PROXY",
    "ANSIBLE_*",
    "AWS_*",
    "BROWSER",
    "BUNDLE_*",
    "CARGO_*",
    "CC",
    "CLOUDSDK_*",
    "CXX",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "EDITOR",
    "GIT_*",
    "GOENV",
    "GOFLAGS",
    "GOPROXY",
    "GOTOOLCHAIN",
    "TAR_OPTIONS",
    "SVN_SSH",
    "SSLKEYLOGFILE",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RSYNC_RSH",
    "REQUESTS_CA_BUNDLE",
    "PIP_*",
    "OPENSSL_*",
    "NPM_CONFIG_*",
    "MAVEN_*",
    "MAKEFILES",
    "HELM_*",
    "GRADLE_*",
    "GNUPGHOME",
    "GNUMAKEFLAGS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KUBECONFIG",
    "KUBECTL_*",
    "KUBE_EDITOR",
    "LESS",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PAGER",
    "SSH_*",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SUDO_ASKPASS",
    "TF_CLI_*",
    "VAULT_*",
    "VISUAL",
];

/// Returns `NAME='value'`, a line each, so that no value is a command and no name is one that programs read.
pub(super) fn assignments(
    outputs: &BTreeMap<String, Value>,
    prefix: &str,
) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for (output, value) in outputs {
        let variable = variable(output, prefix);
        if is_read_by_programs(&variable) {
            bail!(
                "output {output} would be the variable {variable}, which shells or the programs that they start read\n\
                 hint: --prefix OUTPUT_ puts that before every name"
            );
        }
        if let Some(other) = taken.insert(variable.clone(), output) {
            bail!(
                "outputs {other} and {output} would both be the variable {variable}\n\
                 hint: name one of them to have its value alone, or use -o json"
            );
        }
        let value = plain(value).replace('\'', r"'\''");
        out.extend([variable.as_str(), "='", &value, "'\n"]);
    }
    Ok(out)
}

fn variable(output: &str, prefix: &str) -> String {
    let upper = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    };
    let mut variable: String = prefix.chars().chain(output.chars().map(upper)).collect();
    if variable.is_empty() || variable.starts_with(|c: char| c.is_ascii_digit()) {
        variable.insert(0, '_');
    }
    variable
}

/// Returns true if programs read the variable. Shells such as zsh read some names in lower case as well.
fn is_read_by_programs(variable: &str) -> bool {
    let variable = variable.to_ascii_uppercase();
    READ_BY_PROGRAMS
        .iter()
        .any(|read| match read.strip_suffix('*') {
            Some(beginning) => variable.starts_with(beginning),
            None => variable == *read,
        })
}

/// Parses `--prefix`.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    let is_word = text
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_word && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) {
        Ok(text.to_owned())
    } else {
        Err("a prefix has letters, digits and _, and does not begin with a digit".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(outputs: Value, prefix: &str) -> Result<String, String> {
        let outputs = serde_json::from_value(outputs).unwrap();
        assignments(&outputs, prefix).map_err(|error| error.to_string())
    }

    #[test]
    fn no_value_can_be_a_command() {
        assert_eq!(
            printed(json!({ "image-digest": "a'; rm -rf /; '" }), ""),
            Ok("IMAGE_DIGEST='a'\\''; rm -rf /; '\\'''\n".to_owned())
        );
        assert_eq!(
            printed(json!({ "1st": { "a": 1 } }), ""),
            Ok("_1ST='{\"a\":1}'\n".to_owned())
        );
    }

    #[test]
    fn no_name_is_one_that_programs_read() {
        for output in [
            "path",
            "ld_preload",
            "GIT_SSH_COMMAND",
            "ld-library.path",
            "bash_env",
            "env",
            "ifs",
            "home",
            "PS4",
            "prompt-command",
            "pythonpath",
            "node_options",
            "perl5opt",
            "rubyopt",
            "git-ssh",
            "shell",
            "java-tool-options",
            "kubeconfig",
            "editor",
            "pager",
            "tmpdir",
            "cdpath",
            "https_proxy",
            "-",
            "dyld-insert-libraries",
            "posixly_correct",
            "globignore",
            "ssh-askpass",
            "Visual",
            "",
        ] {
            let refused = printed(json!({ "digest": "d", output: "/tmp/evil" }), "").unwrap_err();
            assert!(refused.contains(" would be the variable "), "{refused}");
            assert!(refused.contains("\nhint: --prefix OUTPUT_"), "{refused}");
            let kept = printed(json!({ output: "v" }), "OUTPUT_").unwrap();
            assert!(kept.starts_with("OUTPUT_"), "{output}: {kept}");
        }
        let whole = printed(json!({ "preload": "x" }), "LD_").unwrap_err();
        assert!(whole.contains("the variable LD_PRELOAD"), "{whole}");
        let lower = printed(json!({ "": "x" }), "path").unwrap_err();
        assert!(lower.contains("the variable path"), "{lower}");
        assert_eq!(
            printed(json!({ "digest": "d", "paths": 1, "environment": 2 }), ""),
            Ok("DIGEST='d'\nENVIRONMENT='2'\nPATHS='1'\n".to_owned())
        );
    }

    #[test]
    fn two_outputs_are_two_variables() {
        let both = printed(json!({ "a-b": 1, "a.b": 2 }), "").unwrap_err();
        assert!(
            both.starts_with("outputs a-b and a.b would both be the variable A_B"),
            "{both}"
        );
    }

    #[test]
    fn a_prefix_is_the_beginning_of_a_name() {
        for right in ["OUTPUT_", "_", "a1"] {
            assert_eq!(prefix(right), Ok(right.to_owned()));
        }
        for wrong in ["", "1A", "A-", "A=", "A;", "é", "A B"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            printed(json!({ "1st": 1 }), "OUTPUT_"),
            Ok("OUTPUT_1ST='1'\n".to_owned())
        );
    }
}
