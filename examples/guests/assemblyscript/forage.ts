// Forage in AssemblyScript: the same game as examples/guests/src/forage.rs, which says what the rules are.
import * as retick from "../../../runtime-wasm/guest/assemblyscript/retick";

export { retick_abi, retick_buffer } from "../../../runtime-wasm/guest/assemblyscript/retick";

const WIDTH: i32 = 256;
const HEIGHT: i32 = 192;
const CELL: i32 = 32;
const MOST_SEATS: u32 = 4;
const AXIS: i64 = 16;
const GROUND: u32 = 1;
const TAKEN: u32 = 1;

// The whole state: these globals, and a record of each forager.
let random: u64 = 0;
let steps: u32 = 0;
let pickupX: i32 = 0;
let pickupY: i32 = 0;
let seats: u32 = 0;

// @ts-ignore: decorator
@unmanaged
class Forager {
  x: i32;
  y: i32;
  vx: f32;
  vy: f32;
  headingX: i32;
  headingY: i32;
  score: u32;
  epoch: u32;
}

const foragers: usize = memory.data(4 * 32, 8);
const descriptionAt: usize = memory.data(160);
const projectionAt: usize = memory.data(8 + 20 * 4);

function forager(seat: u32): Forager {
  return changetype<Forager>(foragers + seat * offsetof<Forager>());
}

// SplitMix64.
function draw(): u64 {
  random += 0x9E3779B97F4A7C15;
  let word = random;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

function placePickup(): void {
  pickupX = <i32>(<u32>(draw() >> 32) % (WIDTH / CELL));
  pickupY = <i32>(<u32>(draw() >> 32) % (HEIGHT / CELL));
}

// Towards zero, and 0 for NaN. Everything here is far within an integer's range.
function whole(number: f32): i32 {
  return number == number ? <i32>number : 0;
}

function wrapped(position: i32, size: i32): i32 {
  return ((position % size) + size) % size;
}

export function retick_describe(): i64 {
  retick.describeBegin(descriptionAt, 160, 30, 1, MOST_SEATS, retick.COMMANDS | retick.PROJECTION);
  retick.inputBegin("forage-input/v1", 3);
  retick.inputAxis("x", -AXIS, AXIS, 4, retick.REPEAT);
  retick.inputAxis("y", -AXIS, AXIS, 4, retick.REPEAT);
  retick.inputBoolean("dash", retick.ONCE);
  retick.stateSchema("forage/state/v1");
  retick.configEmpty();
  return retick.describeEnd();
}

export function retick_init(block: usize, length: i32): i32 {
  seats = retick.initSeats(block);
  if (seats > MOST_SEATS) return 1;
  for (let word: usize = 0; word < 4; word++) random ^= load<u64>(retick.initSeed(block) + 8 * word);
  for (let seat: u32 = 0; seat < seats; seat++) {
    const self = forager(seat);
    self.x = 32 + 64 * <i32>seat;
    self.y = HEIGHT / 2;
  }
  placePickup();
  return 0;
}

function move(self: Forager): void {
  const x: f32 = <f32>retick.takeInteger(-AXIS, AXIS) * 0.0625;
  const y: f32 = <f32>retick.takeInteger(-AXIS, AXIS) * 0.0625;
  const reach: f32 = retick.takeBoolean() ? 12.0 : 3.0;
  const length: f32 = sqrt<f32>(x * x + y * y);
  // NaN for whoever pushes nowhere.
  const alongX: f32 = x / length;
  const alongY: f32 = y / length;
  self.vx = self.vx * 0.75 + (alongX == alongX ? alongX * reach : 0.0);
  self.vy = self.vy * 0.75 + (alongY == alongY ? alongY * reach : 0.0);
  self.headingX = whole(alongX * 256.0);
  self.headingY = whole(alongY * 256.0);
  self.x = wrapped(self.x + whole(self.vx), WIDTH);
  self.y = wrapped(self.y + whole(self.vy), HEIGHT);
}

function forage(self: Forager, seat: u32): void {
  if (self.x / CELL != pickupX || self.y / CELL != pickupY) return;
  self.score += 1;
  retick.emit(GROUND, seat, TAKEN, changetype<usize>(self) + offsetof<Forager>("score"), 4);
  retick.log("a pickup is taken");
  placePickup();
}

// The one command: a byte 1 takes all scores away.
function obey(block: usize): i32 {
  let malformed: i32 = 0;
  for (let number: u32 = 0; number < retick.stepCommands(block); number++) {
    if (retick.commandLength(block, number) != 1 || load<u8>(retick.commandPayload(block, number)) != 1) {
      malformed += 1;
      continue;
    }
    for (let seat: u32 = 0; seat < seats; seat++) forager(seat).score = 0;
  }
  return malformed;
}

export function retick_step(block: usize, length: i32): i32 {
  steps += 1;
  const malformed = obey(block);
  for (let seat: u32 = 0; seat < seats; seat++) {
    const self = forager(seat);
    if (retick.seatPresence(block, seat) == retick.EMPTY) continue;
    const epoch = retick.seatEpoch(block, seat);
    if (self.epoch != epoch) self.score = 0;
    self.epoch = epoch;
    retick.readFields(block, seat);
    move(self);
    if (!retick.seatSubstituted(block, seat)) forage(self, seat);
  }
  return malformed;
}

export function retick_project(): i64 {
  store<u32>(projectionAt, steps);
  store<u8>(projectionAt, <u8>pickupX, 4);
  store<u8>(projectionAt, <u8>pickupY, 5);
  store<u16>(projectionAt, <u16>seats, 6);
  let at = projectionAt + 8;
  for (let seat: u32 = 0; seat < seats; seat++, at += 20) {
    const self = forager(seat);
    store<u16>(at, <u16>self.x);
    store<u16>(at, <u16>self.y, 2);
    store<u16>(at, <u16>self.headingX, 4);
    store<u16>(at, <u16>self.headingY, 6);
    // To the last bit, and never a NaN.
    store<f32>(at, self.vx, 8);
    store<f32>(at, self.vy, 12);
    store<u32>(at, self.score, 16);
  }
  return retick.span(projectionAt, <i32>(at - projectionAt));
}
