//! Links do what their profile says, and nothing depends on anything but the seed.

use retick_core::tick::Tick;

use super::*;

const RATE: TickRate = TickRate::Hz60;
const TICK: u64 = tick_nanos(RATE);

fn lossy(delivery: Delivery) -> LinkProfile {
    LinkProfile {
        latency_nanos: 6 * TICK,
        jitter: Jitter { steps: 4, step_nanos: TICK },
        loss: Chance::percent(25),
        resend_nanos: 12 * TICK,
        duplication: Chance::percent(10),
        delivery,
        ..LinkProfile::default()
    }
}

/// When 2,000 messages, one a tick, arrive: each with the number it was sent under.
fn arrivals(profile: LinkProfile, seed: u64) -> (Vec<(u64, Moment)>, LinkStats) {
    let mut link = Link::new(profile, seed, "test");
    let send = |tick: u64| link.send(RATE.moment_of(Tick::new(tick))).map(move |due| (tick, due)).collect::<Vec<_>>();
    let sent = (0..2000).flat_map(send).collect();
    (sent, link.stats())
}

#[test]
fn t2_a_seed_reproduces_everything_and_another_one_does_not() {
    assert_eq!(arrivals(lossy(Delivery::Datagrams), 7), arrivals(lossy(Delivery::Datagrams), 7));
    assert_ne!(arrivals(lossy(Delivery::Datagrams), 7), arrivals(lossy(Delivery::Datagrams), 8));
}

#[test]
fn t2_delays_lie_within_the_profile_and_both_ends_occur() {
    let (sent, stats) = arrivals(LinkProfile { loss: Chance::NEVER, ..lossy(Delivery::Datagrams) }, 1);
    let delays: Vec<_> = sent.iter().map(|(tick, due)| due.nanos_since(RATE.moment_of(Tick::new(*tick)))).collect();
    assert_eq!((delays.iter().min(), delays.iter().max()), (Some(&(2 * TICK)), Some(&(10 * TICK))));
    assert_eq!(sent.len() as u64, stats.sent + stats.duplicated);
    assert!((150..250).contains(&stats.duplicated) && stats.inversions > 400 && stats.lost == 0, "{stats:?}");
}

#[test]
fn t2_a_datagram_may_be_lost_and_a_reliable_message_comes_late_instead() {
    let (_, stats) = arrivals(lossy(Delivery::Datagrams), 1);
    assert!((400..600).contains(&stats.lost) && stats.resent == 0, "{stats:?}");
    let (sent, stats) = arrivals(lossy(Delivery::Unordered), 1);
    assert!(stats.lost == 0 && (400..700).contains(&stats.resent) && stats.inversions > 400, "{stats:?}");
    let latest = sent.iter().map(|(tick, due)| due.nanos_since(RATE.moment_of(Tick::new(*tick)))).max();
    assert_eq!(latest, Some(22 * TICK));
}

#[test]
fn t2_a_stream_keeps_its_order_and_repeats_nothing() {
    let (sent, stats) = arrivals(lossy(Delivery::Stream), 1);
    assert!(sent.is_sorted_by_key(|(_, due)| *due));
    assert_eq!((sent.len(), stats.lost, stats.duplicated, stats.inversions), (2000, 0, 0, 0));
    assert!(stats.resent > 400);
}

#[test]
fn t2_whole_ticks_end_on_ticks() {
    for start in (0..600).chain([1 << 31]) {
        let mut link = Link::new(LinkProfile::ticks(RATE, 3), 1, "test");
        let due = link.send(RATE.moment_of(Tick::new(start))).next().expect("nothing is lost");
        let before = RATE.moment_of(Tick::new(start + 2));
        assert!(before < due && due <= RATE.moment_of(Tick::new(start + 3)), "{start}");
    }
}

#[test]
fn t2_stalls_hold_back_and_cuts_lose_or_hold_back() {
    let moment = |tick: u64| RATE.moment_of(Tick::new(tick));
    let arrive = |profile: LinkProfile, tick| Link::new(profile, 1, "test").send(moment(tick)).next();
    let stalled = LinkProfile { stalls: vec![moment(10)..moment(20), moment(20)..moment(30)], ..Default::default() };
    assert_eq!([9, 10, 29, 30].map(|tick| arrive(stalled.clone(), tick)), [9, 30, 30, 30].map(|t| Some(moment(t))));
    let cut = |delivery| LinkProfile { cuts: vec![moment(10)..moment(20)], delivery, ..Default::default() };
    assert_eq!(arrive(cut(Delivery::Datagrams), 10), None);
    assert_eq!(arrive(cut(Delivery::Stream), 10), Some(moment(20)));
    assert_eq!(arrive(cut(Delivery::Datagrams), 20), Some(moment(20)));
}

#[test]
fn t2_ties_go_by_the_order_of_sending() {
    let mut mailbox = Mailbox::default();
    let (early, late) = (Moment::from_millis(1), Moment::from_millis(2));
    for (due, item) in [(late, 'c'), (early, 'a'), (late, 'd'), (early, 'b'), (late, 'x')] {
        mailbox.post(due, item);
    }
    mailbox.drop_if(|item| *item == 'x');
    assert_eq!(std::iter::from_fn(|| mailbox.pop_due(early)).collect::<String>(), "ab");
    assert_eq!(std::iter::from_fn(|| mailbox.pop_due(late)).collect::<String>(), "cd");
}
