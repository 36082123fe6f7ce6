// Not a game to play: it has a field of every kind and shows what it read, so that a test can hold retick.ts to the kernel.
import * as retick from "../../../runtime-wasm/guest/assemblyscript/retick";

export { retick_abi, retick_buffer } from "../../../runtime-wasm/guest/assemblyscript/retick";

const FIELDS: i32 = 7;
const NAME_LEAST: i64 = -(1 << 32);

// What is shown: the tick, the config's length and first number, and each seat's fields, of two seats at most.
const shownAt: usize = memory.data(24 + 2 * 7 * 8, 8);
const descriptionAt: usize = memory.data(400);
let seats: u32 = 0;

export function retick_describe(): i64 {
  retick.describeBegin(descriptionAt, 400, 20, 1, 2, retick.PROJECTION);
  retick.inputBegin("kinds/v1", FIELDS);
  retick.inputInteger("name", NAME_LEAST, 200, retick.REPEAT);
  retick.inputBoolean("fire", retick.ONCE);
  retick.inputChoice("pick", 65536, retick.NEUTRAL);
  retick.inputFlags("keys", 12, retick.REPEAT);
  retick.inputAxis("aimx", -16, 16, 4, retick.REPEAT);
  retick.inputInteger("only", 7, 7, retick.REPEAT);
  retick.inputInteger("wide", i64.MIN_VALUE, i64.MAX_VALUE, retick.REPEAT);
  retick.stateSchema("fields/state/v1");
  retick.configBegin("arena/v1", 1, 256, 4);
  retick.configInteger("rounds", 1, 9);
  retick.configBoolean("fast");
  retick.configText("map", 32);
  retick.configBytes("salt", 16);
  return retick.describeEnd();
}

export function retick_init(block: usize, length: i32): i32 {
  seats = retick.initSeats(block);
  store<i64>(shownAt, retick.initConfigLength(block), 8);
  store<i64>(shownAt, load<i64>(retick.initConfig(block)), 16);
  return 0;
}

export function retick_step(block: usize, length: i32): i32 {
  store<u64>(shownAt, retick.stepTick(block));
  let at = shownAt + 24;
  for (let seat: u32 = 0; seat < retick.stepSeats(block); seat++, at += 8 * FIELDS) {
    retick.readFields(block, seat);
    store<i64>(at, retick.takeInteger(NAME_LEAST, 200));
    store<i64>(at, <i64>retick.takeBoolean(), 8);
    store<i64>(at, <i64>retick.takeChoice(65536), 16);
    store<u64>(at, retick.takeFlags(12), 24);
    store<i64>(at, retick.takeInteger(-16, 16), 32);
    store<i64>(at, retick.takeInteger(7, 7), 40);
    store<i64>(at, retick.takeInteger(i64.MIN_VALUE, i64.MAX_VALUE), 48);
  }
  return 0;
}

export function retick_project(): i64 {
  return retick.span(shownAt, 24 + 8 * FIELDS * seats);
}
