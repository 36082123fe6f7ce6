//! One player's line on the screen while it plays.

use indicatif::ProgressStyle;
use retick_client::{Link, NetStats};

/// A style from a template that is known to be one.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Where a client stands, in words.
pub fn tell(stats: &NetStats) -> String {
    let round_trip = stats.client.round_trip_micros.map_or("–".into(), |micros| format!("{} ms", micros / 1000));
    let link = match stats.link {
        Link::Connecting => "connecting",
        Link::Open => "connected",
        Link::Reconnecting { .. } => "RECONNECTING",
        Link::Closed => "closed",
    };
    format!(
        "confirmed {:>6}  ahead {:>2}  round trip {round_trip:>7}  rollbacks {:>5}  substituted {:>4}  {link}",
        stats.confirmed.index(),
        stats.head.since(stats.confirmed),
        stats.client.rollbacks,
        stats.client.own_substitutions,
    )
}
