//! The sockets by which a running configuration is controlled: `--control`, and those of its
//! ControlSocket elements.

use super::Args;
use crate::failure::{self, Failure, Outcome};
use netvm::application::{Application, Settings};
use netvm::control::{Door, Server, default_folder};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens them; none if nothing asks for one. The run then looks up from waiting when somebody asks
/// something.
pub(super) fn open(args: &Args, application: &Application, settings: &mut Settings) -> Outcome<Option<Server>> {
    let asked = args.control.as_ref().map(|path| ("--control".to_owned(), Door::Json(named(path.as_deref()))));
    open_all(asked.into_iter().collect(), args.metrics, application, settings)
}

/// Opens these, and those of the configuration.
pub(crate) fn open_with(asked: Vec<(String, Door)>, application: &Application, settings: &mut Settings) -> Outcome<Option<Server>> {
    open_all(asked, None, application, settings)
}

/// Opens these, and those of the configuration, and tells statistics at an address.
fn open_all(
    asked: Vec<(String, Door)>,
    metrics: Option<SocketAddr>,
    application: &Application,
    settings: &mut Settings,
) -> Outcome<Option<Server>> {
    let mut doors = Door::of(application).map_err(Failure::failed)?;
    doors.extend(asked);
    if doors.is_empty() && metrics.is_none() {
        return Ok(None);
    }
    let mut server = Server::new().map_err(Failure::failed)?;
    for (who, door) in doors {
        let shown = match &door {
            Door::Json(path) | Door::Click(path, _) => path.display().to_string(),
            Door::ClickTcp(address, _) => address.to_string(),
        };
        let is_json = matches!(door, Door::Json(_));
        server.open(door).map_err(|error| Failure::failed(format_args!("{who}: {shown}: {error}")))?;
        if is_json {
            failure::eprint_lossy(&format!("control socket {shown}"));
        }
    }
    if let Some(address) = metrics {
        let address = server.open_metrics(address).map_err(|error| Failure::failed(format_args!("--metrics: {address}: {error}")))?;
        failure::eprint_lossy(&format!("metrics http://{address}/metrics"));
    }
    settings.waker = Some(Arc::new(server.wakes().map_err(Failure::failed)?.into()));
    Ok(Some(server))
}

/// The path, or one of its own for this process.
pub(super) fn named(path: Option<&std::path::Path>) -> PathBuf {
    path.map_or_else(|| default_folder().join(format!("{}.sock", std::process::id())), std::path::Path::to_owned)
}
