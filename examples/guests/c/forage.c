/* Forage in C: the same game as examples/guests/src/forage.rs, which says what the rules are. */
#include "retick.h"

enum { WIDTH = 256, HEIGHT = 192, CELL = 32, COLUMNS = WIDTH / CELL, ROWS = HEIGHT / CELL };
enum { MOST_SEATS = 4, AXIS = 16 };
enum { GROUND = 1, TAKEN = 1 };

typedef struct {
  int32_t x, y;
  float vx, vy;
  int32_t heading_x, heading_y;
  uint32_t score;
  uint32_t epoch;
} forager;

/* The whole state. */
static struct {
  uint64_t random;
  uint32_t steps;
  uint32_t pickup_x, pickup_y;
  uint32_t seats;
  forager foragers[MOST_SEATS];
} game;

/* SplitMix64. */
static uint64_t draw(void) {
  game.random += 0x9E3779B97F4A7C15u;
  uint64_t word = game.random;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
  word = (word ^ word >> 27) * 0x94D049BB133111EBu;
  return word ^ word >> 31;
}

static void place_pickup(void) {
  game.pickup_x = (uint32_t)(draw() >> 32) % COLUMNS;
  game.pickup_y = (uint32_t)(draw() >> 32) % ROWS;
}

/* Towards zero, and 0 for NaN. Everything here is far within an integer's range. */
static int32_t whole(float number) { return number == number ? (int32_t)number : 0; }

static int32_t wrapped(int32_t position, int32_t size) { return (position % size + size) % size; }

RETICK_EXPORT("retick_describe") int64_t describe(void) {
  static uint8_t bytes[160];
  retick_description to;
  retick_describe_begin(&to, bytes, sizeof bytes, 30, 1, MOST_SEATS, RETICK_COMMANDS | RETICK_PROJECTION);
  retick_input_begin(&to, "forage-input/v1", 3);
  retick_input_axis(&to, "x", -AXIS, AXIS, 4, RETICK_REPEAT);
  retick_input_axis(&to, "y", -AXIS, AXIS, 4, RETICK_REPEAT);
  retick_input_boolean(&to, "dash", RETICK_ONCE);
  retick_state_schema(&to, "forage/state/v1");
  retick_config_empty(&to);
  return retick_describe_end(&to);
}

RETICK_EXPORT("retick_init") int32_t init(const uint8_t *block, uint32_t length) {
  (void)length;
  retick_init_block match = retick_read_init(block);
  if (match.seats > MOST_SEATS) return 1;
  for (int word = 0; word < 4; word += 1) game.random ^= retick_load64(match.seed + 8 * word);
  game.seats = match.seats;
  for (uint32_t seat = 0; seat < game.seats; seat += 1) {
    game.foragers[seat].x = 32 + 64 * (int32_t)seat;
    game.foragers[seat].y = HEIGHT / 2;
  }
  place_pickup();
  return 0;
}

static void move(forager *self, retick_bits input) {
  float x = (float)retick_take_integer(&input, -AXIS, AXIS) * 0.0625f;
  float y = (float)retick_take_integer(&input, -AXIS, AXIS) * 0.0625f;
  float reach = retick_take_boolean(&input) ? 12.0f : 3.0f;
  float length = __builtin_sqrtf(x * x + y * y);
  /* NaN for whoever pushes nowhere. */
  float along_x = x / length, along_y = y / length;
  self->vx = self->vx * 0.75f + (along_x == along_x ? along_x * reach : 0.0f);
  self->vy = self->vy * 0.75f + (along_y == along_y ? along_y * reach : 0.0f);
  self->heading_x = whole(along_x * 256.0f);
  self->heading_y = whole(along_y * 256.0f);
  self->x = wrapped(self->x + whole(self->vx), WIDTH);
  self->y = wrapped(self->y + whole(self->vy), HEIGHT);
}

static void forage(forager *self, uint32_t seat) {
  if ((uint32_t)self->x / CELL != game.pickup_x || (uint32_t)self->y / CELL != game.pickup_y) return;
  self->score += 1;
  retick_emit(GROUND, seat, TAKEN, &self->score, sizeof self->score);
  retick_log("a pickup is taken");
  place_pickup();
}

/* The one command: a byte 1 takes all scores away. */
static uint32_t obey(const retick_step_block *step) {
  uint32_t malformed = 0;
  for (uint32_t number = 0; number < step->commands; number += 1) {
    retick_command command = retick_command_at(step, number);
    if (command.length != 1 || command.payload[0] != 1) {
      malformed += 1;
      continue;
    }
    for (uint32_t seat = 0; seat < game.seats; seat += 1) game.foragers[seat].score = 0;
  }
  return malformed;
}

RETICK_EXPORT("retick_step") uint32_t step(const uint8_t *block, uint32_t length) {
  (void)length;
  retick_step_block tick = retick_read_step(block);
  game.steps += 1;
  uint32_t malformed = obey(&tick);
  for (uint32_t number = 0; number < game.seats; number += 1) {
    retick_seat seat = retick_seat_at(&tick, number);
    forager *self = &game.foragers[number];
    if (seat.presence == RETICK_EMPTY) continue;
    if (self->epoch != seat.epoch) self->score = 0;
    self->epoch = seat.epoch;
    move(self, retick_fields(&seat));
    if (!seat.substituted) forage(self, number);
  }
  return malformed;
}

RETICK_EXPORT("retick_project") int64_t project(void) {
  static uint8_t bytes[8 + 20 * MOST_SEATS];
  retick_store32(bytes, game.steps);
  bytes[4] = (uint8_t)game.pickup_x;
  bytes[5] = (uint8_t)game.pickup_y;
  retick_store16(bytes + 6, (uint16_t)game.seats);
  uint8_t *at = bytes + 8;
  for (uint32_t seat = 0; seat < game.seats; seat += 1, at += 20) {
    const forager *self = &game.foragers[seat];
    retick_store16(at, (uint16_t)self->x);
    retick_store16(at + 2, (uint16_t)self->y);
    retick_store16(at + 4, (uint16_t)self->heading_x);
    retick_store16(at + 6, (uint16_t)self->heading_y);
    /* To the last bit, and never a NaN. */
    retick_store_float(at + 8, self->vx);
    retick_store_float(at + 12, self->vy);
    retick_store32(at + 16, self->score);
  }
  return retick_span(bytes, (uint32_t)(at - bytes));
}
