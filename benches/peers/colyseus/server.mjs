// Rooms of Colyseus that relay: each tick, at 60 Hz, what has come since the last one goes to all seats as one message.
//
// `node server.mjs stock|tuned ROOMS SEATS` writes one line of JSON, where it listens and a path for each seat, and serves until it
// is killed. `retick bench rooms --colyseus` starts it.
//
// stock: what a game would write, bytes by `onMessageBytes` and `broadcastBytes`, and since the library's own timers count whole
//        milliseconds, a timer of each room that corrects itself.
// tuned: no patches, one timer for each sixteenth of the rooms, and a frame that is made once for all seats and written past `ws`'s
//        sender.
import { Server, Room, matchMaker, Protocol } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { performance } from "node:perf_hooks";

const [manner, rooms, seats] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
if (!["stock", "tuned"].includes(manner) || !(rooms > 0) || !(seats > 0)) {
  console.error("usage: node server.mjs stock|tuned ROOMS SEATS");
  process.exit(2);
}
const TICK_MILLIS = 1000 / 60;
const TYPE = 1;
// Longer than all seats together take to come.
const RESERVATION_SECONDS = 60;

/** Calls `tick` at 60 Hz on average: a timer's error does not add up. */
function keepTicking(tick, offset) {
  let due = performance.now() + offset;
  const next = () => {
    tick();
    due += TICK_MILLIS;
    setTimeout(next, Math.max(0, due - performance.now()));
  };
  setTimeout(next, offset);
}

class Relay extends Room {
  onCreate() {
    this.maxClients = seats;
    this.seatReservationTimeout = RESERVATION_SECONDS;
    this.autoDispose = false;
    this.messages = [];
    this.onMessageBytes(TYPE, (client, bytes) => this.messages.push(bytes));
    this.prepare();
  }

  /** What has come since the last tick, one message behind another. */
  merged() {
    const merged = Buffer.concat(this.messages);
    this.messages.length = 0;
    return merged;
  }
}

class StockRelay extends Relay {
  prepare() {
    keepTicking(() => this.broadcastBytes(TYPE, this.merged()), Math.random() * TICK_MILLIS);
  }
}

const tunedRooms = [];

class TunedRelay extends Relay {
  prepare() {
    this.patchRate = null;
    tunedRooms.push(this);
  }

  tick() {
    const merged = this.merged();
    // A WebSocket frame of fewer than 126 bytes, or of fewer than 65,536.
    const length = merged.length + 2;
    const head = length < 126 ? [0x82, length] : [0x82, 126, length >> 8, length & 255];
    const frame = Buffer.concat([Buffer.from([...head, Protocol.ROOM_DATA_BYTES, TYPE]), merged]);
    for (const client of this.clients) client.ref._socket.write(frame);
  }
}

const transport = new WebSocketTransport();
const server = new Server({ transport, greet: false, gracefullyShutdown: false });
server.define("relay", manner === "stock" ? StockRelay : TunedRelay);
await server.listen(0, "127.0.0.1");

const paths = [];
for (let room = 0; room < rooms; room++) {
  const { roomId } = await matchMaker.createRoom("relay", {});
  for (let seat = 0; seat < seats; seat++) {
    const reservation = await matchMaker.joinById(roomId, {});
    const processId = reservation.processId ?? reservation.room?.processId;
    paths.push(`/${processId}/${roomId}?sessionId=${reservation.sessionId}`);
  }
}
if (manner === "tuned") {
  // A slice of the rooms at a time, so that their ticks are spread over a tick as far as timers of a millisecond can.
  const slices = 16;
  for (let slice = 0; slice < slices; slice++) {
    const own = tunedRooms.filter((_, number) => number % slices === slice);
    keepTicking(() => own.forEach((room) => room.tick()), (slice * TICK_MILLIS) / slices);
  }
}
const { port } = transport.server.address();
console.log(JSON.stringify({ address: `127.0.0.1:${port}`, paths }));
