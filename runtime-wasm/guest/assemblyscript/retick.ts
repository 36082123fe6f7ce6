/**
 * SDK for Retick games written in AssemblyScript: one file, no package. The interface that it speaks is written down in
 * docs/guest-abi.md; examples/guests/assemblyscript is a whole game.
 *
 * A module's entry file exports the interface's functions, two of them from here:
 *
 *   export { retick_abi, retick_buffer } from ".../retick";
 *   export function retick_describe(): i64 { ... }
 *   export function retick_init(block: usize, length: i32): i32 { ... }   // 0, or a code of refusal
 *   export function retick_step(block: usize, length: i32): i32 { ... }   // malformed commands that it skipped
 *   export function retick_project(): i64 { ... }                         // if it projects
 *
 * and is built with `asc game.ts --runtime stub -O3 --use abort= --exportStart _initialize`, since a module may have no start
 * function.
 *
 * Rules for a game: all of its memory and globals are state. The stub runtime never frees, so a step must allocate nothing: no
 * `new`, no strings put together, no array literals, no closures. Keep the state in globals, and arrays in `memory.data(bytes)` or in
 * a `StaticArray` that is made once. Of floats, use + - * / and `sqrt`; `Math` and `Mathf` are AssemblyScript's own portable code
 * within the module, so they differ from what other languages compute.
 */

// ---- imports and exports ----

const ABI_VERSION: i32 = 1;

// @ts-ignore: decorator
@external("retick", "log")
declare function logBytes(line: usize, length: i32): void;

/** A presentation event of the running step: numbers of 16 bits for `module` and `event`, and a payload that is copied at once. */
// @ts-ignore: decorator
@external("retick", "emit")
export declare function emit(module: u32, source: u32, event: u32, payload: usize, length: i32): void;

/** Bytes of a logged line that are kept. */
const MAX_LINE_BYTES: i32 = 512;
const lineAt: usize = memory.data(MAX_LINE_BYTES);

/** A line for whoever debugs the game; never part of the state. ASCII, and cut off at 512 bytes. */
export function log(line: string): void {
  logBytes(lineAt, putAscii(line, lineAt, MAX_LINE_BYTES));
}

/** Gives up: logs why and traps. On a confirmed tick that ends the match, on every machine alike. */
export function giveUp(why: string): void {
  log(why);
  unreachable();
}

export function retick_abi(): i32 {
  return ABI_VERSION;
}

let buffer: usize = 0;
let bufferBytes: i32 = 0;

/** Where the host writes a block. A longer one than any before takes new memory, twice as much as it needs. */
export function retick_buffer(length: i32): usize {
  if (length < 0) giveUp("a block of 2 GiB");
  if (length > bufferBytes) {
    bufferBytes = max(2 * length, 1024);
    buffer = heap.alloc(bufferBytes);
  }
  return buffer;
}

/** A span of memory as the interface returns it: the pointer in the high half, the length in the low half. */
export function span(at: usize, length: i32): i64 {
  return (<i64>at << 32) | <i64>length;
}

/** Writes a text's characters, at most `most` of them, and says how many. */
function putAscii(text: string, at: usize, most: i32): i32 {
  const length = min(text.length, most);
  for (let index = 0; index < length; index++) store<u8>(at + index, <u8>text.charCodeAt(index));
  return length;
}

// ---- the init block ----

export function initSeats(block: usize): u32 {
  return load<u32>(block);
}

export function initTicksPerSecond(block: usize): u32 {
  return load<u32>(block, 4);
}

/** The address of the seed's 32 bytes. */
export function initSeed(block: usize): usize {
  return block + 8;
}

export function initConfigLength(block: usize): u32 {
  return load<u32>(block, 40);
}

/** The address of the session config's bytes. */
export function initConfig(block: usize): usize {
  return block + 44;
}

// ---- the step block ----

export const EMPTY: u32 = 0;
export const HUMAN: u32 = 1;
export const BOT: u32 = 2;
export const DISCONNECTED: u32 = 3;

/** The source of a command of the authority's own. */
export const AUTHORITY: u32 = 0xffff_ffff;

export function stepTick(block: usize): u64 {
  return load<u64>(block);
}

export function stepSeats(block: usize): u32 {
  return load<u32>(block, 8);
}

export function stepCommands(block: usize): u32 {
  return load<u32>(block, 12);
}

function seatRecord(block: usize, seat: u32): usize {
  return block + 16 + 16 * seat;
}

/** The address of a seat's input: as many bytes as the input schema says, already checked against it. */
export function seatInput(block: usize, seat: u32): usize {
  return block + load<u32>(seatRecord(block, seat));
}

/** Whether the input stands in for one that came too late. */
export function seatSubstituted(block: usize, seat: u32): bool {
  return (load<u32>(seatRecord(block, seat), 8) & 1) != 0;
}

/** Whether the input was malformed, and is neutral therefore. */
export function seatMalformed(block: usize, seat: u32): bool {
  return (load<u32>(seatRecord(block, seat), 8) & 2) != 0;
}

/** Who drives the seat: EMPTY, HUMAN, BOT or DISCONNECTED. */
export function seatPresence(block: usize, seat: u32): u32 {
  return (load<u32>(seatRecord(block, seat), 8) >> 8) & 0xff;
}

/** Since which change of drivers the seat is driven so. */
export function seatEpoch(block: usize, seat: u32): u32 {
  return load<u32>(seatRecord(block, seat), 12);
}

function commandRecord(block: usize, command: u32): usize {
  return seatRecord(block, stepSeats(block)) + 12 * command;
}

/** The address of a command's payload: any bytes that somebody sent. The game decodes them, and counts what it skips. */
export function commandPayload(block: usize, command: u32): usize {
  return block + load<u32>(commandRecord(block, command));
}

export function commandLength(block: usize, command: u32): u32 {
  return load<u32>(commandRecord(block, command), 4);
}

/** A seat's number, or AUTHORITY. */
export function commandSource(block: usize, command: u32): u32 {
  return load<u32>(commandRecord(block, command), 8);
}

// ---- the fields of an input, in the order of the schema ----

let fieldsAt: usize = 0;
let fieldsUsed: u32 = 0;

/** Begins with the first field of a seat's input. */
export function readFields(block: usize, seat: u32): void {
  fieldsAt = seatInput(block, seat);
  fieldsUsed = 0;
}

/** How many bits a value from 0 to `greatest` takes. */
function width(greatest: u64): u32 {
  return <u32>(64 - clz(greatest));
}

/** The next `count` bits, the least significant one first. */
export function takeBits(count: u32): u64 {
  let value: u64 = 0;
  for (let bit: u32 = 0; bit < count; bit++, fieldsUsed++) {
    value |= <u64>((load<u8>(fieldsAt + (fieldsUsed >> 3)) >> <u8>(fieldsUsed & 7)) & 1) << bit;
  }
  return value;
}

/** An integer, or an axis in its own units: its distance from the least value stands there. */
export function takeInteger(least: i64, greatest: i64): i64 {
  return least + <i64>takeBits(width(<u64>(greatest - least)));
}

export function takeBoolean(): bool {
  return takeBits(1) != 0;
}

export function takeChoice(choices: u32): u32 {
  return <u32>takeBits(width(choices - 1));
}

export function takeFlags(count: u32): u64 {
  return takeBits(count);
}

// ---- the description: call in this order ----
//
//   describeBegin, inputBegin, one input… for each field, stateSchema, configBegin and one config… for each field
//   (or configEmpty), describeEnd.

export const COMMANDS: u32 = 1;
export const PROJECTION: u32 = 2;

/** What a prediction or a substitute does with a field of the last input: repeat it, or make it neutral (a pulse is ONCE). */
export const REPEAT: u8 = 0;
export const NEUTRAL: u8 = 1;
export const ONCE: u8 = 2;

let descriptionAt: usize = 0;
let descriptionCapacity: i32 = 0;
let descriptionLength: i32 = 0;
let descriptionPart: i32 = 0;

function room(length: i32): usize {
  if (length > descriptionCapacity - descriptionLength) giveUp("the description needs more room");
  const at = descriptionAt + descriptionLength;
  descriptionLength += length;
  return at;
}

function put<T>(value: T): void {
  store<T>(room(sizeof<T>()), value);
}

function putText(text: string): void {
  putAscii(text, room(text.length), text.length);
}

/** An unsigned number in as few bytes as it needs: itself, or a mark and its 2, 4 or 8 bytes. */
function putVarint(value: u64): void {
  if (value < 251) {
    put<u8>(<u8>value);
  } else if (value <= 0xffff) {
    put<u8>(251);
    put<u16>(<u16>value);
  } else if (value <= 0xffff_ffff) {
    put<u8>(252);
    put<u32>(<u32>value);
  } else {
    put<u8>(253);
    put<u64>(value);
  }
}

/** A signed number: 0, -1, 1, -2 … count as 0, 1, 2, 3 … */
function putSigned(value: i64): void {
  putVarint((<u64>value << 1) ^ <u64>(value >> 63));
}

/** Ends a part: its length goes into the header's word at `offset`. */
function endPart(offset: i32): void {
  store<u32>(descriptionAt + offset, descriptionLength - descriptionPart);
  descriptionPart = descriptionLength;
}

/** Begins to write at `at`, where `capacity` bytes are free. Texts are ASCII. */
export function describeBegin(
  at: usize, capacity: i32, ticksPerSecond: u32, fewestSeats: u32, mostSeats: u32, capabilities: u32,
): void {
  descriptionAt = at;
  descriptionCapacity = capacity;
  descriptionLength = 0;
  descriptionPart = 32;
  put<u32>(ABI_VERSION);
  put<u32>(ticksPerSecond);
  put<u32>(fewestSeats);
  put<u32>(mostSeats);
  put<u32>(capabilities);
  // Three lengths, which follow.
  memory.fill(room(12), 0, 12);
}

export function inputBegin(id: string, fields: u32): void {
  putVarint(id.length);
  putText(id);
  putVarint(fields);
}

/** A field's name and the number of its kind; its limits and its policy follow. */
function inputField(name: string, kind: u8): void {
  putVarint(name.length);
  putText(name);
  put<u8>(kind);
}

export function inputInteger(name: string, least: i64, greatest: i64, policy: u8): void {
  inputField(name, 0);
  putSigned(least);
  putSigned(greatest);
  put<u8>(policy);
}

export function inputBoolean(name: string, policy: u8): void {
  inputField(name, 1);
  put<u8>(policy);
}

export function inputChoice(name: string, choices: u32, policy: u8): void {
  inputField(name, 2);
  putVarint(choices);
  put<u8>(policy);
}

export function inputFlags(name: string, count: u8, policy: u8): void {
  inputField(name, 3);
  put<u8>(count);
  put<u8>(policy);
}

/** A fixed-point axis: `least` to `greatest` in units of 2^-`fractionBits`. */
export function inputAxis(name: string, least: i64, greatest: i64, fractionBits: u8, policy: u8): void {
  inputField(name, 4);
  putSigned(least);
  putSigned(greatest);
  put<u8>(fractionBits);
  put<u8>(policy);
}

/** Ends the input schema, and names the layout of the state. */
export function stateSchema(id: string): void {
  endPart(20);
  putText(id);
  endPart(24);
}

/** A config schema's head; its numbers have a fixed width. */
export function configBegin(id: string, version: u32, maxBytes: u64, fields: u64): void {
  put<u64>(id.length);
  putText(id);
  put<u32>(version);
  put<u64>(maxBytes);
  put<u64>(fields);
}

/** The schema of a game that has nothing to configure. */
export function configEmpty(): void {
  configBegin("empty", 1, 0, 0);
}

function configField(name: string, kind: u32): void {
  put<u64>(name.length);
  putText(name);
  put<u32>(kind);
}

export function configInteger(name: string, least: i64, greatest: i64): void {
  configField(name, 0);
  put<i64>(least);
  put<i64>(greatest);
}

export function configBoolean(name: string): void {
  configField(name, 1);
}

export function configText(name: string, maxBytes: u32): void {
  configField(name, 2);
  put<u32>(maxBytes);
}

export function configBytes(name: string, maxBytes: u32): void {
  configField(name, 3);
  put<u32>(maxBytes);
}

/** What `retick_describe` returns. */
export function describeEnd(): i64 {
  endPart(28);
  return span(descriptionAt, descriptionLength);
}
