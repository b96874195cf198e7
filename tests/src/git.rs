//! A Git repository that this process serves over HTTP, for tools that fetch from one.

use std::{
    convert::Infallible,
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::TcpListener,
    process::Command,
    task::{AbortHandle, JoinSet},
};

/// Beginning of the answer to the first request of a fetch: a line with its length, and an empty one.
const ANNOUNCED: &[u8] = b"001e# service=git-upload-pack\n0000";

/// A repository with one branch, `main`. It is no longer served when this value is dropped.
#[derive(Debug)]
pub struct Git {
    folder: PathBuf,
    address: SocketAddr,
    server: AbortHandle,
}

impl Git {
    /// Returns the reason why there can be no repository here (git is missing), or `None`.
    pub async fn lacking() -> Option<String> {
        let version = git(Path::new("."), &["--version"]).await;
        version.err().map(|error| format!("{error:#}"))
    }

    /// Makes a new repository in this folder and serves it. Needs git.
    pub async fn serve(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        git(&folder, &["init", "--quiet", "--initial-branch=main"]).await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let root = folder.clone();
        let server = tokio::spawn(async move {
            serve(listener, root).await;
        });
        Ok(Self {
            folder,
            address,
            server: server.abort_handle(),
        })
    }

    /// Returns the URL to fetch from.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/fleet", self.address)
    }

    /// Writes these files, by their paths, and commits them. Returns the name of the commit.
    pub async fn commit<P: AsRef<Path>>(&self, files: &[(P, String)]) -> Result<String> {
        for (path, text) in files {
            let path = self.folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            fs::write(path, text)?;
        }
        git(&self.folder, &["add", "--all"]).await?;
        let message = "--message=a change";
        git(
            &self.folder,
            &["commit", "--quiet", "--allow-empty", message],
        )
        .await?;
        let name = git(&self.folder, &["rev-parse", "HEAD"]).await?;
        Ok(name.trim().to_owned())
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Returns a git command that reads no settings but these.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args([
            "-c",
            "user.name=tests",
            "-c",
            "user.email=tests@example.com",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let what = || format!("git {}", arguments.join(" "));
    let output = command(folder, arguments).output().await;
    let output = output.with_context(what)?;
    if !output.status.success() {
        bail!("{}: {}", what(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Serves until it is aborted; connections end with it.
async fn serve(listener: TcpListener, folder: PathBuf) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(30)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let folder = folder.clone();
        let handle = move |request| answer(request, folder.clone());
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle));
        // The client reports errors.
        connections.spawn(async move { drop(connection.await) });
    }
}

/// Answers both requests of a fetch, for the branches and for the content of a commit, with Git itself.
async fn answer(request: Request<Incoming>, folder: PathBuf) -> io::Result<Response<Full<Bytes>>> {
    let asks = request.method() == Method::GET;
    let body = request.into_body().collect().await;
    let body = body.map_err(io::Error::other)?.to_bytes();
    let (kind, arguments, mut answer) = if asks {
        let arguments = ["upload-pack", "--stateless-rpc", "--advertise-refs", "."];
        ("advertisement", arguments.to_vec(), ANNOUNCED.to_vec())
    } else {
        let arguments = ["upload-pack", "--stateless-rpc", "."];
        ("result", arguments.to_vec(), Vec::new())
    };
    let mut pack = command(&folder, &arguments).spawn()?;
    if let Some(mut pipe) = pack.stdin.take() {
        pipe.write_all(&body).await?;
    }
    answer.extend(pack.wait_with_output().await?.stdout);
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    let kind = format!("application/x-git-upload-pack-{kind}");
    let kind = header::HeaderValue::try_from(kind).map_err(io::Error::other)?;
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
