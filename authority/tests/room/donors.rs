//! Raw peers that donate and download snapshots of a made-up state (A7): the room plays nothing, so any bytes will do.

use std::collections::{BTreeMap, VecDeque};

use retick_authority::room::ConnectionId;
use retick_core::digest::{Checksum, Digest};
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::snapshot::{LastInput, Snapshot};
use retick_core::tick::Tick;
use retick_core::wire::{
    Assembly, ClientMessage, NoSnapshot, SNAPSHOT_CHUNK_BYTES, SNAPSHOT_WINDOW_CHUNKS, SnapshotHeader, TransferId,
};

use crate::driver::{GENERATION, Match, Notice, Transfer, zig};

/// Bytes of the state: `S(tick)` of every peer is these many bytes that follow from the tick, and do not compress.
pub fn state(tick: u64, bytes: usize) -> Vec<u8> {
    let mut word = tick.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word.to_le_bytes()
    };
    let mut state: Vec<u8> = (0..bytes.div_ceil(8)).flat_map(|_| next()).collect();
    state.truncate(bytes);
    state
}

/// The encoded snapshot of a state.
pub fn encoded(game: &Match, tick: u64, state: &[u8]) -> Vec<u8> {
    let last = LastInput::new(&[0; 4], Presence::Human, ControlEpoch(1));
    let seats = game.room.descriptor().seats().count();
    Snapshot::new(game.room.descriptor(), Tick::new(tick), vec![last; seats], state).to_bytes()
}

/// The encoded snapshot of a state that states the checksum of `claimed`, whole and sealed like any other.
fn forged(game: &Match, tick: u64, state: &[u8], claimed: &[u8]) -> Vec<u8> {
    let mut bytes = encoded(game, tick, state);
    bytes.truncate(bytes.len() - Digest::of(b"").as_bytes().len());
    let (found, wanted) = (Checksum::of(state), Checksum::of(claimed));
    let place =
        bytes.windows(found.as_bytes().len()).position(|part| part == found.as_bytes()).expect("it stands there");
    bytes[place..place + wanted.as_bytes().len()].copy_from_slice(wanted.as_bytes());
    let seal = Digest::derived("retick 2026 snapshot v2", &[&bytes]);
    bytes.extend_from_slice(seal.as_bytes());
    let snapshot = Snapshot::from_bytes(&bytes).expect("whole");
    assert_eq!((snapshot.checksum(), snapshot.tick()), (wanted, Tick::new(tick)));
    bytes
}

pub fn header(transfer: TransferId, tick: u64, state: &[u8], bytes: &[u8]) -> SnapshotHeader {
    SnapshotHeader {
        transfer,
        generation: GENERATION,
        tick: Tick::new(tick),
        checksum: Checksum::of(state),
        byte_count: u32::try_from(bytes.len()).expect("small"),
        digest: Digest::of(bytes),
    }
}

/// What a donor does with a request.
#[derive(Clone, Debug, Default)]
pub enum Donor {
    /// It gives what it is asked for.
    #[default]
    Honest,
    /// It says nothing.
    Silent,
    /// It refuses.
    Refuses(NoSnapshot),
    /// It offers, sends so many chunks, and no more.
    Stops(u32),
    /// It gives another state than it reported, under the reported checksum.
    Lies,
    /// The same, and the snapshot itself states the reported checksum, too: only the state's own bytes tell.
    Forges,
    /// It gives another state than it reported, and says so.
    Differs,
    /// It flips a bit of this chunk.
    Damages(u32),
    /// It sends the chunks in this order, and then all.
    Shuffles(Vec<u32>),
}

#[derive(Debug)]
struct Giving {
    client: ConnectionId,
    transfer: TransferId,
    bytes: Vec<u8>,
    order: VecDeque<u32>,
    acknowledged: u32,
}

/// What a newcomer does with what it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Taker {
    /// It acknowledges every chunk.
    #[default]
    Reads,
    /// It acknowledges none.
    Stalls,
    /// It says at the end that it can't use it.
    Fails,
}

/// All peers of a match that have to do with snapshots.
#[derive(Debug, Default)]
pub struct Peers {
    pub state_bytes: usize,
    /// How each peer gives; the others are honest.
    pub donors: BTreeMap<ConnectionId, Donor>,
    pub takers: BTreeMap<ConnectionId, Taker>,
    read: BTreeMap<ConnectionId, usize>,
    giving: Vec<Giving>,
    pub downloads: BTreeMap<ConnectionId, Assembly>,
    /// Who was asked, for which state.
    pub asked: Vec<(ConnectionId, u64)>,
    pub canceled: Vec<ConnectionId>,
    /// What each newcomer got in the end: the state's tick, the bytes, and whether they were verified.
    pub hydrated: BTreeMap<ConnectionId, (u64, Vec<u8>, bool)>,
    verified: bool,
}

impl Peers {
    pub fn new(state_bytes: usize) -> Peers {
        Peers { state_bytes, ..Peers::default() }
    }

    /// Plays ticks until A is `until`: these clients play and report, everyone gives and takes.
    pub fn play(&mut self, game: &mut Match, clients: &[ConnectionId], until: u64) {
        let cadence = u64::from(game.room.rules().checksum_cadence_ticks);
        while game.tick < until {
            let (tick, before) = (game.tick, game.room.frontier().index());
            clients.iter().zip(0..).for_each(|(client, s)| game.input(*client, tick, zig(s, tick)));
            game.step();
            for tick in (before..game.room.frontier().index()).filter(|tick| tick % cadence == 0) {
                let state = state(tick + 1, self.state_bytes);
                clients.iter().for_each(|client| game.report(*client, tick + 1, &state));
            }
            self.serve(game);
        }
    }

    /// Reads what came for every peer, answers it, and sends what donors may send.
    pub fn serve(&mut self, game: &mut Match) {
        let clients: Vec<_> = game.peers.keys().copied().collect();
        for client in clients {
            let all = &game.peer(client).notices;
            let read = self.read.insert(client, all.len()).unwrap_or(0);
            for notice in &all[read..].to_vec() {
                if let Notice::Transfer(transfer) = notice {
                    self.take(game, client, transfer);
                }
            }
        }
        self.send_chunks(game);
    }

    fn take(&mut self, game: &mut Match, client: ConnectionId, message: &Transfer) {
        match message {
            Transfer::Wanted { transfer, tick } => self.begin(game, client, *transfer, *tick),
            Transfer::Progress { transfer, next } => {
                let giving = self.giving.iter_mut().find(|giving| giving.transfer == *transfer);
                // A test may give by hand.
                let Some(giving) = giving else { return };
                assert!(*next > giving.acknowledged, "progress goes on");
                giving.acknowledged = *next;
            }
            Transfer::Canceled { transfer } => {
                self.canceled.push(client);
                self.giving.retain(|giving| giving.transfer != *transfer);
            }
            Transfer::Snapshot { header, verified } => {
                self.verified = *verified;
                let kept = self.downloads.remove(&client).and_then(|mut kept| kept.resume(header).then_some(kept));
                let assembly = kept.unwrap_or_else(|| Assembly::new(*header));
                let (transfer, next) = (header.transfer, assembly.next());
                self.downloads.insert(client, assembly);
                game.send(client, &ClientMessage::SnapshotProgress { transfer, next });
            }
            Transfer::Chunk { transfer, index, bytes } => self.take_chunk(game, client, *transfer, *index, bytes),
            Transfer::None { .. } => {}
        }
    }

    fn begin(&mut self, game: &mut Match, client: ConnectionId, transfer: TransferId, tick: u64) {
        self.asked.push((client, tick));
        let donor = self.donors.get(&client).cloned().unwrap_or_default();
        let (mut state, other) = (state(tick, self.state_bytes), state(tick + 1, self.state_bytes));
        let mut bytes = encoded(game, tick, &state);
        match &donor {
            Donor::Silent => return,
            Donor::Refuses(cause) => {
                return game.send(client, &ClientMessage::SnapshotRefused { transfer, cause: *cause });
            }
            Donor::Lies => bytes = encoded(game, tick, &other),
            Donor::Forges => bytes = forged(game, tick, &other, &state),
            Donor::Differs => (bytes, state) = (encoded(game, tick, &other), other),
            _ => {}
        }
        let header = header(transfer, tick, &state, &bytes);
        game.send(client, &ClientMessage::SnapshotOffer(header));
        let all = 0..header.chunk_count();
        let order = match &donor {
            Donor::Stops(count) => all.take(*count as usize).collect(),
            Donor::Shuffles(first) => first.iter().copied().chain(all.filter(|index| !first.contains(index))).collect(),
            Donor::Damages(index) => {
                bytes[*index as usize * SNAPSHOT_CHUNK_BYTES + 77] ^= 0x10;
                all.collect()
            }
            _ => all.collect(),
        };
        self.giving.push(Giving { client, transfer, bytes, order, acknowledged: 0 });
    }

    fn send_chunks(&mut self, game: &mut Match) {
        for Giving { client, transfer, bytes, order, acknowledged } in &mut self.giving {
            while let Some(index) = order.pop_front_if(|index| *index < *acknowledged + SNAPSHOT_WINDOW_CHUNKS) {
                let chunk = bytes.chunks(SNAPSHOT_CHUNK_BYTES).nth(index as usize).expect("there");
                game.send(*client, &ClientMessage::SnapshotChunk { transfer: *transfer, index, bytes: chunk });
            }
        }
        self.giving.retain(|giving| !giving.order.is_empty() || game.peer(giving.client).closed.is_none());
    }

    fn take_chunk(&mut self, game: &mut Match, client: ConnectionId, transfer: TransferId, index: u32, bytes: &[u8]) {
        let taker = self.takers.get(&client).copied().unwrap_or_default();
        let assembly = self.downloads.get_mut(&client).expect("a chunk of what was announced");
        assembly.take(transfer, index, bytes).expect("a chunk that fits");
        let (next, complete) = (assembly.next(), assembly.is_complete());
        match taker {
            Taker::Stalls => return,
            Taker::Fails if complete => {
                self.downloads.remove(&client);
                return game.send(client, &ClientMessage::SnapshotFailed { transfer });
            }
            _ => {}
        }
        if complete {
            let assembly = self.downloads.remove(&client).expect("it is there");
            let tick = assembly.header().tick.index();
            let bytes = assembly.finish().expect("what was announced");
            self.hydrated.insert(client, (tick, bytes, self.verified));
            game.peer_mut(client).first = tick;
        }
        game.send(client, &ClientMessage::SnapshotProgress { transfer, next });
    }

    /// What a peer was told of snapshots.
    pub fn told(game: &Match, client: ConnectionId) -> Vec<Transfer> {
        let transfer = |notice: &Notice| match notice {
            Notice::Transfer(transfer) => Some(transfer.clone()),
            _ => None,
        };
        game.peer(client).notices.iter().filter_map(transfer).collect()
    }
}
