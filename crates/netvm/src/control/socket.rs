//! Where clients come in: Unix sockets that only their owner may use, and TCP.

use super::door::{Access, Door};
use super::{Line, MOST_CONNECTIONS, click, metrics, protocol};
use crate::application::{Application, ElementError};
use std::io::{self, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The folder for sockets that are not named: only its owner gets in.
pub fn default_folder() -> PathBuf {
    let run = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    run.map_or_else(|| std::env::temp_dir().join(format!("netvm-{}", rustix::process::getuid().as_raw())), |run| run.join("netvm"))
}

/// Sockets in that folder, by the processes that they are of.
pub fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect();
    // What a process left that was killed answers nobody.
    found.retain(|path| UnixStream::connect(path).is_ok());
    found.sort();
    found
}

impl Door {
    /// Doors that a configuration asks for with ControlSocket.
    ///
    /// # Errors
    /// The element, and what is wrong with its arguments.
    pub fn of(application: &Application) -> Result<Vec<(String, Self)>, ElementError> {
        let elements = application.flat().elements.iter().filter(|element| element.class == "ControlSocket");
        let door = |element: &crate::frontends::click::graph::Element| {
            let door = click::door(&element.arguments).map_err(|why| ElementError::argument(format!("`{}`: {why}", element.name)))?;
            Ok((element.name.clone(), door))
        };
        elements.map(door).collect()
    }

    pub(super) fn listen(&self) -> io::Result<Listener> {
        Ok(match self {
            Self::Json(path) => Listener::Unix(bind(path)?, None),
            Self::Click(path, access) => Listener::Unix(bind(path)?, Some(*access)),
            Self::ClickTcp(address, access) => Listener::Tcp(TcpListener::bind(address)?, *access),
        })
    }
}

/// A socket of that name, in a folder that is made if need be. A name that is left of a process
/// which was killed is taken.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        other => other,
    }?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether that is a socket which nobody listens at.
fn is_left(path: &Path) -> bool {
    matches!(UnixStream::connect(path), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

/// A socket that waits for connections.
pub(super) enum Listener {
    /// Without access: lines of JSON.
    Unix(UnixListener, Option<Access>),
    Tcp(TcpListener, Access),
}

/// Both ways of a connection.
trait Connection: Read + Write + Send + 'static {
    fn again(&self) -> io::Result<Self>
    where
        Self: Sized;
}

impl Connection for UnixStream {
    fn again(&self) -> io::Result<Self> {
        self.try_clone()
    }
}

impl Connection for std::net::TcpStream {
    fn again(&self) -> io::Result<Self> {
        self.try_clone()
    }
}

impl Listener {
    /// Takes connections as long as the process lives.
    pub(super) fn accept(&self, line: &Line) {
        match self {
            Self::Unix(listener, access) => {
                for stream in listener.incoming() {
                    match stream {
                        Ok(stream) if is_owner(&stream) => begin(stream, *access, line),
                        Ok(_) => {}
                        Err(_) => pause(),
                    }
                }
            }
            Self::Tcp(listener, access) => {
                for stream in listener.incoming() {
                    match stream {
                        Ok(stream) => begin(stream, Some(*access), line),
                        Err(_) => pause(),
                    }
                }
            }
        }
    }
}

/// The system has no descriptors: there may be some later.
fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Whether the process at the other end belongs to who runs this one, or to root: the socket's mode
/// says so too, but only once it is set.
fn is_owner(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream.as_fd());
    peer.is_ok_and(|peer| peer.uid == rustix::process::geteuid() || peer.uid.is_root())
}

/// Takes those who want statistics, as long as the process lives.
pub(super) fn accept_metrics(listener: &TcpListener, line: &Line) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => in_thread(stream, line, metrics::serve),
            Err(_) => pause(),
        }
    }
}

/// A thread for a connection, if there may be one more.
fn begin<C: Connection>(stream: C, access: Option<Access>, line: &Line) {
    in_thread(stream, line, move |stream, line| serve(stream, access, line));
}

fn in_thread<C: Connection>(mut stream: C, line: &Line, work: impl FnOnce(C, &Line) -> io::Result<()> + Send + 'static) {
    if line.connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
        line.connections.fetch_sub(1, Ordering::AcqRel);
        // Who is refused may not listen.
        let _ = stream.write_all(b"too many connections\n");
        return;
    }
    let (its, connections) = (line.clone(), line.connections.clone());
    let serve = move || {
        // A connection ends when the client goes, or cannot be written to.
        let _ = work(stream, &its);
        its.connections.fetch_sub(1, Ordering::AcqRel);
    };
    if std::thread::Builder::new().name("connection".to_owned()).spawn(serve).is_err() {
        connections.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve<C: Connection>(stream: C, access: Option<Access>, line: &Line) -> io::Result<()> {
    let mut from = BufReader::new(stream.again()?);
    match access {
        None => protocol::serve(&mut from, stream, line),
        Some(access) => click::serve(&mut from, stream, access, line),
    }
}
