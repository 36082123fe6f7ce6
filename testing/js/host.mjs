// A game's module in this JavaScript engine, for tests that hold the engine against another.
//
// Standard input, all of it before the first step; numbers are u32, little-endian:
//   length, module | length, init block | for each tick: length, step block
//
// Standard output, one record for S(0) and one after each tick:
//   bytes of the globals | the globals: `retick:pages`, then every `retick:global:` in the order of their indices, raw
//   number of pages | for each: index, 4096 bytes
//
// The pages are those of the game's memory that were written since the last record, by the dirty map at the front of a rewritten
// module's memory. For S(0), and for a module without a map, they are all that are not zero. A module without globals of these names gives
// none.
import { readFileSync, writeSync } from "node:fs";

const PAGE_BYTES = 4096;
const GAS = 1n << 60n;

const input = readFileSync(0);
let position = 0;

function nextPart() {
  const start = position + 4;
  position = start + input.readUInt32LE(position);
  return input.subarray(start, position);
}

// What an import costs is taken by the host: the limits `log-gas` and `event-gas`.
const LOG_GAS = 1000n;
const EVENT_GAS = 200n;

function pay(cost) {
  const gas = exports["retick:gas"];
  if (!gas) return;
  gas.value -= cost;
  if (gas.value < 0n) throw new Error("out of gas");
}

const module = new WebAssembly.Module(nextPart());
const imports = { log: () => pay(LOG_GAS), emit: () => pay(EVENT_GAS) };
const { exports } = new WebAssembly.Instance(module, { retick: imports });
const base = exports["retick:base"]?.value ?? 0;
const globals = listGlobals();

function listGlobals() {
  const prefix = "retick:global:";
  const names = Object.keys(exports).filter((name) => name.startsWith(prefix));
  names.sort((one, other) => Number(one.slice(prefix.length)) - Number(other.slice(prefix.length)));
  return ["retick:pages", ...names].filter((name) => name in exports).map((name) => exports[name]);
}

// Gas is for all calls of a tick together.
function fill() {
  if ("retick:gas" in exports) exports["retick:gas"].value = GAS;
}

// Depth is for each call anew.
function prepare() {
  if ("retick:depth" in exports) exports["retick:depth"].value = exports["retick:depth-budget"].value;
}

function call(entry, block) {
  fill();
  prepare();
  const pointer = exports.retick_buffer(block.length) >>> 0;
  const memory = new Uint8Array(exports.memory.buffer);
  memory.set(block, base + pointer);
  if (base > 0 && block.length > 0) {
    // What the host writes is the host's to mark.
    memory.fill(1, Math.floor(pointer / PAGE_BYTES), Math.floor((pointer + block.length - 1) / PAGE_BYTES) + 1);
  }
  prepare();
  return entry(pointer, block.length);
}

// An i32 is a number in JavaScript and an i64 a bigint; other types are not what the tests' games keep in globals.
function globalBytes() {
  const parts = globals.map(({ value }) => {
    const bytes = Buffer.alloc(typeof value === "bigint" ? 8 : 4);
    if (typeof value === "bigint") bytes.writeBigInt64LE(value);
    else bytes.writeInt32LE(value);
    return bytes;
  });
  return Buffer.concat(parts);
}

function changedPages(isFirst) {
  const memory = Buffer.from(exports.memory.buffer);
  const pages = [];
  for (let page = 0, start = base; start < memory.length; page += 1, start += PAGE_BYTES) {
    const bytes = memory.subarray(start, start + PAGE_BYTES);
    if (base > 0 && !isFirst ? memory[page] !== 0 : bytes.some((byte) => byte !== 0)) {
      pages.push({ page, bytes });
    }
  }
  return pages;
}

function word(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function write(bytes) {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(1, bytes, written);
  }
}

function record(isFirst) {
  const [own, pages] = [globalBytes(), changedPages(isFirst)];
  const parts = pages.flatMap(({ page, bytes }) => [word(page), bytes]);
  write(Buffer.concat([word(own.length), own, word(pages.length), ...parts]));
  new Uint8Array(exports.memory.buffer, 0, base).fill(0);
}

prepare();
exports._initialize?.();
const refusal = call(exports.retick_init, nextPart());
if (refusal !== 0) throw new Error(`the game refuses the match: ${refusal}`);
record(true);
while (position < input.length) {
  call(exports.retick_step, nextPart());
  record(false);
}
