//! The signals that ask a process to stop.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// Ready when the process is asked to stop: by SIGINT, or by SIGTERM where there is one.
pub async fn shutdown_signal() {
    ShutdownSignals::new().next().await;
}

/// All signals that ask the process to stop, from now on: none is lost between two waits. The first usually asks for a drain,
/// and the second to stop at once.
#[derive(Debug)]
pub struct ShutdownSignals {
    #[cfg(unix)]
    signals: [Option<Signal>; 2],
}

impl ShutdownSignals {
    /// Listens for SIGINT and SIGTERM. Must be called within a tokio runtime.
    #[must_use]
    pub fn new() -> ShutdownSignals {
        ShutdownSignals {
            #[cfg(unix)]
            signals: [SignalKind::interrupt(), SignalKind::terminate()].map(listen),
        }
    }

    /// Ready with the next signal; never, where there can be none.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.signals;
        tokio::select! {
            () = received(interrupt) => info!("interrupted"),
            () = received(terminate) => info!("terminated"),
        }
    }

    /// Ready with the next signal; never, where there can be none.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            warn!(%error, "interrupts can't be waited for");
            std::future::pending().await
        }
        info!("interrupted");
    }
}

impl Default for ShutdownSignals {
    fn default() -> ShutdownSignals {
        ShutdownSignals::new()
    }
}

#[cfg(unix)]
fn listen(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| warn!(%error, "a signal can't be waited for")).ok()
}

#[cfg(unix)]
async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
