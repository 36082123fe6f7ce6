//! N7: the queues of a link end at their limits, and its thread ends with it.

use std::net::TcpListener;

use futures_util::FutureExt;

use super::*;

/// A link without a thread, the parcels that it sends, and the inlet of its events.
fn link() -> (Link, mpsc::Receiver<Parcel>, Inlet, watch::Receiver<u64>) {
    let (outbound, parcels) = mpsc::channel(MAX_OUTBOUND_MESSAGES);
    let (events, inbound) = sync::channel();
    let (given_up, gives_up) = watch::channel(0);
    let room = Arc::new(Semaphore::new(MAX_INBOUND_BYTES));
    let inlet = Inlet { events, room: room.clone() };
    let thread = std::thread::spawn(|| {});
    let id = LINK;
    (Link { id, number: 0, outbound, inbound, waiting: None, room, given_up, thread }, parcels, inlet, gives_up)
}

/// The link of a runner's first match.
const LINK: LinkId = LinkId::FIRST;

fn connect(link: &mut Link, inlet: &Inlet, number: u64) {
    assert!(inlet.tell(LinkEvent::Connected { number }).is_ok());
    let event = link.next_event().expect("it was told");
    link.handled(&event);
}

#[test]
fn n7_what_waits_for_the_game_ends_at_its_limit_and_goes_on_when_it_was_handled() {
    let (mut link, _parcels, inlet, _gives_up) = link();
    let kilobyte = Bytes::from(vec![7; 1024 - MESSAGE_COST]);
    for _ in 0..MAX_INBOUND_BYTES / 1024 {
        assert!(inlet.message(kilobyte.clone()).now_or_never().is_some_and(|told| told.is_ok()));
    }
    assert!(inlet.message(Bytes::new()).now_or_never().is_none(), "the socket is not read");
    let event = link.next_event().expect("it was told");
    link.handled(&event);
    assert!(inlet.message(Bytes::new()).now_or_never().is_some_and(|told| told.is_ok()));
}

#[test]
fn n7_a_socket_that_takes_nothing_is_given_up_at_the_limit_and_gets_nothing_of_the_next_one() {
    let (mut link, mut parcels, inlet, gives_up) = link();
    link.send(&[1]);
    assert!(parcels.try_recv().is_err(), "without a socket there is nobody to send to");
    connect(&mut link, &inlet, 1);
    (0..MAX_OUTBOUND_MESSAGES).for_each(|_| link.send(&[1]));
    assert_eq!((*gives_up.borrow(), link.number), (0, 1));
    link.send(&[1]);
    assert_eq!((*gives_up.borrow(), link.number), (1, 0));
    // The runner hears of the next socket: what waits is of the older one still.
    connect(&mut link, &inlet, 2);
    let waiting = std::iter::from_fn(|| parcels.try_recv().ok());
    assert!(waiting.map(|parcel| parcel.number).eq([1; MAX_OUTBOUND_MESSAGES]));
    link.send(&[2]);
    assert_eq!(parcels.try_recv().map(|parcel| parcel.number).ok(), Some(2));
}

#[test]
fn n7_a_closed_link_leaves_no_thread_behind() {
    // It takes connections and never answers.
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = nobody.local_addr().expect("it is bound").to_string();
    let mut closing = Closing::default();
    let mut rooms = Vec::new();
    for _ in 0..2 * MAX_CLOSING_LINKS {
        let link =
            Link::open(LINK, NetConfig::new(address.clone(), "ROOM".parse().expect("a code"))).expect("a thread");
        rooms.push(link.room.clone());
        closing.close(link);
        assert!(closing.threads.len() <= MAX_CLOSING_LINKS);
    }
    drop(closing);
    assert!(rooms.iter().all(|room| Arc::strong_count(room) == 1), "nobody else holds it any more");
}
