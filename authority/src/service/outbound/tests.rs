//! A queue before a socket that takes everything, nothing, or fails.

use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;

/// A socket: what it has taken, and whether it takes more.
#[derive(Default)]
struct Socket {
    taken: Vec<usize>,
    is_full: bool,
    has_failed: bool,
    waker: Option<Waker>,
}

#[derive(Clone, Default)]
struct SharedSocket(Arc<Mutex<Socket>>);

impl SharedSocket {
    fn socket(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().expect("no test panics with it")
    }

    fn set_full(&self, is_full: bool) {
        let mut socket = self.socket();
        socket.is_full = is_full;
        socket.waker.take().into_iter().for_each(Waker::wake);
    }

    fn taken(&self) -> Vec<usize> {
        self.socket().taken.clone()
    }
}

impl Sink<Message> for SharedSocket {
    type Error = axum::Error;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), axum::Error>> {
        self.poll_flush(context)
    }

    fn start_send(self: Pin<&mut Self>, message: Message) -> Result<(), axum::Error> {
        self.socket().taken.push(message.into_data().len());
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), axum::Error>> {
        let mut socket = self.socket();
        if socket.has_failed {
            return Poll::Ready(Err(axum::Error::new("gone")));
        }
        if socket.is_full {
            socket.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), axum::Error>> {
        self.poll_flush(context)
    }
}

const LINGER: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_secs(10);

fn queue(limit_bytes: usize) -> (Outbound, OutboundWriter, SharedSocket) {
    let socket = SharedSocket::default();
    let (queue, writer) = outbound(limit_bytes, Box::pin(socket.clone()), Arc::default());
    (queue, writer, socket)
}

fn message(bytes: usize) -> Bytes {
    Bytes::from(vec![0; bytes])
}

#[tokio::test]
async fn a11_a_queue_ends_exactly_at_its_limit_and_gives_room_as_it_is_written() {
    let (queue, writer, socket) = queue(2 * MESSAGE_OVERHEAD_BYTES + 10);
    // Nobody writes yet.
    assert_eq!(queue.push(message(4)), Ok(()));
    assert_eq!(queue.push(message(7)), Err(Overflow));
    assert_eq!(queue.push(message(6)), Ok(()));
    assert_eq!(queue.push(message(0)), Err(Overflow));
    let traffic = writer.0.traffic.clone();
    let writing = tokio::spawn(async move { writer.write(LINGER).await });
    yield_now().await;
    assert_eq!(socket.taken(), [4, 6]);
    assert_eq!(queue.push(message(10 + MESSAGE_OVERHEAD_BYTES)), Ok(()));
    drop(queue);
    timeout(SOON, writing).await.expect("the queue has ended").expect("no panic");
    assert_eq!(socket.taken(), [4, 6, 10 + MESSAGE_OVERHEAD_BYTES]);
    assert_eq!(traffic.totals(), (0, 20 + MESSAGE_OVERHEAD_BYTES as u64));
}

#[tokio::test]
async fn a11_a_message_is_written_at_once_while_the_socket_takes_it_and_waits_in_its_order_else() {
    let (queue, writer, socket) = queue(1000);
    let writing = tokio::spawn(async move { writer.write(LINGER).await });
    yield_now().await;
    assert_eq!(queue.push(message(1)), Ok(()));
    assert_eq!(socket.taken(), [1], "without a turn of the writer");
    socket.set_full(true);
    assert_eq!((2..=4).map(|bytes| queue.push(message(bytes))).collect::<Vec<_>>(), [Ok(()); 3]);
    yield_now().await;
    // The second was taken or waits, and nothing overtakes it.
    assert!(socket.taken().len() <= 2, "{:?}", socket.taken());
    socket.set_full(false);
    yield_now().await;
    assert_eq!(socket.taken(), [1, 2, 3, 4]);
    assert_eq!(queue.push(message(5)), Ok(()));
    assert_eq!(socket.taken(), [1, 2, 3, 4, 5]);
    drop(queue);
    timeout(SOON, writing).await.expect("the queue has ended").expect("no panic");
}

#[tokio::test]
async fn a11_a_full_socket_fills_the_queue_to_its_limit() {
    let (queue, writer, socket) = queue(1000);
    let writing = tokio::spawn(async move { writer.write(LINGER).await });
    yield_now().await;
    socket.set_full(true);
    let taken = (0..100).take_while(|_| queue.push(message(136)) == Ok(())).count();
    // Five of 200 bytes each wait; one may be with the socket.
    assert!((5..=6).contains(&taken), "{taken}");
    drop(queue);
    // Its socket never takes them: that has an end.
    timeout(SOON, writing).await.expect("the linger is over").expect("no panic");
}

#[tokio::test]
async fn a11_a_slow_consumer_gets_the_reason_instead_of_what_waited() {
    let (queue, writer, socket) = queue(1000);
    socket.set_full(true);
    assert_eq!(queue.push(message(500)), Ok(()));
    queue.replace_all(message(3));
    socket.set_full(false);
    timeout(SOON, writer.write(LINGER)).await.expect("the queue has ended");
    assert_eq!(socket.taken(), [3]);
    assert!(writer.into_sink().is_some());
}

#[tokio::test]
async fn a_failed_socket_ends_the_writing_and_takes_nothing_more() {
    let (queue, writer, socket) = queue(1000);
    let writing = tokio::spawn(async move {
        writer.write(LINGER).await;
        writer.into_sink().is_none()
    });
    yield_now().await;
    socket.socket().has_failed = true;
    assert_eq!(queue.push(message(1)), Ok(()));
    assert!(timeout(SOON, writing).await.expect("it has failed").expect("no panic"));
    assert_eq!(queue.push(message(1)), Ok(()));
    assert!(socket.taken().len() <= 1);
}
