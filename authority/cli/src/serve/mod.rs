//! `retick serve`: the room service, until interrupted.

mod settings;

use std::num::NonZero;
use std::thread::available_parallelism;

use clap::Args;
use retick_authority::service::{DEFAULT_ADDRESS, Service, ServiceConfig, ShutdownSignals};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

use self::settings::{AdmissionArguments, LimitArguments, ListenArguments, LogArguments, RefereeArguments};
use crate::failure::Failure;

/// Arguments of `retick serve`.
#[derive(Args)]
pub struct ServeArguments {
    #[command(flatten)]
    listen: ListenArguments,
    #[command(flatten)]
    admission: AdmissionArguments,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    logs: LogArguments,
    #[command(flatten)]
    referee: RefereeArguments,
    /// How long rooms still live after the first signal, in milliseconds; the second one stops at once
    #[arg(long, value_name = "MILLIS", default_value_t = ServiceConfig::default().drain_millis)]
    drain_millis: u64,
    /// What to log, for example `info` or `retick_authority=debug`
    #[arg(long, default_value = "info")]
    log: String,
}

/// Runs `retick serve`.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&arguments.log);
    let filter = filter.map_err(|error| Failure::Run(format!("--log {}: {error}", arguments.log)))?;
    // Who may join is settled before anything listens.
    let (admission, creation) = arguments.admission.settle()?;
    let referee = arguments.referee.settle()?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = runtime()?;
    let logs = arguments.logs.settings();
    let config = ServiceConfig {
        admission,
        creation,
        logs,
        referee,
        drain_millis: arguments.drain_millis,
        ..ServiceConfig::default()
    };
    runtime.block_on(serve(arguments, arguments.limits.apply(config)))
}

/// What a service runs on: a thread for each core that it may use, and on one core this thread alone, which has no other to wake.
pub fn runtime() -> Result<Runtime, Failure> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build().map_err(|error| Failure::Run(format!("no runtime: {error}")))
}

async fn serve(arguments: &ServeArguments, config: ServiceConfig) -> Result<(), Failure> {
    let config = arguments.listen.apply(config).await?;
    let is_tls = config.tls.is_some();
    let service = Service::bind(config).map_err(|error| Failure::Run(error.to_string()))?;
    // Listened for before anybody knows of the service, so that no signal is lost.
    let (mut signals, (stop, second)) = (ShutdownSignals::new(), oneshot::channel::<()>());
    let monitor = service.admin_address().map(|address| format!("\nmonitor on http://{address}/monitor"));
    let tls = if is_tls { "\nspeaking TLS" } else { "" };
    // All at once: who starts a service may read the first line alone.
    println!("listening on {}{}{tls}", service.local_address(), monitor.unwrap_or_default());
    let first = async {
        signals.next().await;
        tokio::spawn(async move {
            signals.next().await;
            let _ = stop.send(());
        });
    };
    let stop = async {
        if second.await.is_err() {
            std::future::pending().await
        }
    };
    service.run(first, stop).await.map_err(|error| Failure::Run(error.to_string()))
}

/// The default of `--listen`.
fn default_listen() -> String {
    DEFAULT_ADDRESS.to_string()
}
