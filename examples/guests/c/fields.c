/* Not a game to play: it has a field of every kind and shows what it read, so that a test can hold retick.h to the kernel. */
#include "retick.h"

enum { MOST_SEATS = 2, FIELDS = 7 };
#define WIDE_LEAST INT64_MIN
#define WIDE_GREATEST INT64_MAX
#define NAME_LEAST (-4294967296)

/* The whole state, and what is shown: the tick, the config's length and first number, and each seat's fields. */
static struct {
  uint64_t tick;
  int64_t config_length, rounds;
  int64_t fields[MOST_SEATS][FIELDS];
} game;
static uint32_t seats;

RETICK_EXPORT("retick_describe") int64_t describe(void) {
  static uint8_t bytes[400];
  retick_description to;
  retick_describe_begin(&to, bytes, sizeof bytes, 20, 1, MOST_SEATS, RETICK_PROJECTION);
  retick_input_begin(&to, "kinds/v1", FIELDS);
  retick_input_integer(&to, "name", NAME_LEAST, 200, RETICK_REPEAT);
  retick_input_boolean(&to, "fire", RETICK_ONCE);
  retick_input_choice(&to, "pick", 65536, RETICK_NEUTRAL);
  retick_input_flags(&to, "keys", 12, RETICK_REPEAT);
  retick_input_axis(&to, "aimx", -16, 16, 4, RETICK_REPEAT);
  retick_input_integer(&to, "only", 7, 7, RETICK_REPEAT);
  retick_input_integer(&to, "wide", WIDE_LEAST, WIDE_GREATEST, RETICK_REPEAT);
  retick_state_schema(&to, "fields/state/v1");
  retick_config_begin(&to, "arena/v1", 1, 256, 4);
  retick_config_integer(&to, "rounds", 1, 9);
  retick_config_boolean(&to, "fast");
  retick_config_text(&to, "map", 32);
  retick_config_bytes(&to, "salt", 16);
  return retick_describe_end(&to);
}

RETICK_EXPORT("retick_init") int32_t init(const uint8_t *block, uint32_t length) {
  (void)length;
  retick_init_block match = retick_read_init(block);
  seats = match.seats;
  game.config_length = match.config_length;
  game.rounds = (int64_t)retick_load64(match.config);
  return 0;
}

RETICK_EXPORT("retick_step") uint32_t step(const uint8_t *block, uint32_t length) {
  (void)length;
  retick_step_block tick = retick_read_step(block);
  game.tick = tick.tick;
  for (uint32_t number = 0; number < tick.seats; number += 1) {
    retick_seat seat = retick_seat_at(&tick, number);
    retick_bits input = retick_fields(&seat);
    int64_t *fields = game.fields[number];
    fields[0] = retick_take_integer(&input, NAME_LEAST, 200);
    fields[1] = retick_take_boolean(&input);
    fields[2] = retick_take_choice(&input, 65536);
    fields[3] = (int64_t)retick_take_flags(&input, 12);
    fields[4] = retick_take_integer(&input, -16, 16);
    fields[5] = retick_take_integer(&input, 7, 7);
    fields[6] = retick_take_integer(&input, WIDE_LEAST, WIDE_GREATEST);
  }
  return 0;
}

RETICK_EXPORT("retick_project") int64_t project(void) { return retick_span(&game, 24 + seats * sizeof game.fields[0]); }
