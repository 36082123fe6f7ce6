/* SDK for Retick games written in C and compiled to WebAssembly: one header, no library. The interface that it speaks is written
 * down in docs/guest-abi.md; examples/guests/c is a whole game.
 *
 * Include it in exactly one file of a module: it defines the exports `retick_abi` and `retick_buffer`. The game defines the others:
 *
 *   RETICK_EXPORT("retick_describe") int64_t describe(void);
 *   RETICK_EXPORT("retick_init")     int32_t init(const uint8_t *block, uint32_t length);   0, or a code of refusal
 *   RETICK_EXPORT("retick_step")     uint32_t step(const uint8_t *block, uint32_t length);  malformed commands that it skipped
 *   RETICK_EXPORT("retick_project")  int64_t project(void);                                 if it projects
 *
 * Rules for a game: all of its memory is state, so keep what a step writes small and in one place; no clock, no addresses and no
 * uninitialised bytes in anything that a step computes; of floats, use + - * / and sqrt (`__builtin_sqrtf`), and never convert one to
 * an integer before its range is known (NaN included). Build with `-ffp-contract=off`; docs/guest-abi.md has the whole command.
 */
#ifndef RETICK_H
#define RETICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- imports and exports ---- */

#define RETICK_ABI_VERSION 1u
#define RETICK_EXPORT(name) __attribute__((export_name(name)))
#define RETICK_IMPORT(name) __attribute__((import_module("retick"), import_name(name)))

/* A presentation event of the running step: numbers of 16 bits for `module` and `event`, and a payload that is copied at once. */
RETICK_IMPORT("emit")
void retick_emit(uint32_t module, uint32_t source, uint32_t event, const void *payload, uint32_t length);

/* A line of UTF-8 for whoever debugs the game; never part of the state. */
RETICK_IMPORT("log") void retick_log_bytes(const char *line, uint32_t length);

static inline uint32_t retick_text_length(const char *text) {
  uint32_t length = 0;
  while (text[length] != 0) length += 1;
  return length;
}

/* The same for a text that ends with a zero. */
static inline void retick_log(const char *line) { retick_log_bytes(line, retick_text_length(line)); }

/* Gives up: logs why and traps. On a confirmed tick that ends the match, on every machine alike. */
__attribute__((noreturn)) static inline void retick_give_up(const char *why) {
  retick_log(why);
  __builtin_trap();
}

RETICK_EXPORT("retick_abi") uint32_t retick_abi(void) { return RETICK_ABI_VERSION; }

#define RETICK_PAGE_BYTES 65536u

/* The first address that the linker leaves free. */
extern uint8_t __heap_base;

/* Where the host writes a block: at the end of the module's own data, in as many pages as it takes. A game with a heap of its own
 * defines RETICK_NO_BUFFER and exports its own. */
#ifndef RETICK_NO_BUFFER
RETICK_EXPORT("retick_buffer") uint8_t *retick_buffer(uint32_t length) {
  uint32_t start = ((uint32_t)(uintptr_t)&__heap_base + 7) & ~7u;
  uint64_t end = (uint64_t)start + length;
  uint64_t pages = (end + RETICK_PAGE_BYTES - 1) / RETICK_PAGE_BYTES, present = __builtin_wasm_memory_size(0);
  if (pages > present && __builtin_wasm_memory_grow(0, (size_t)(pages - present)) == (size_t)-1) {
    retick_give_up("no memory for a block");
  }
  return (uint8_t *)(uintptr_t)start;
}
#endif

/* A span of memory as the interface returns it: the pointer in the high half, the length in the low half. */
static inline int64_t retick_span(const void *bytes, uint32_t length) {
  return (int64_t)((uint64_t)(uintptr_t)bytes << 32 | length);
}

/* ---- loads and stores, at any address ---- */

static inline uint32_t retick_load32(const uint8_t *from) {
  uint32_t value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

static inline uint64_t retick_load64(const uint8_t *from) {
  uint64_t value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

static inline void retick_store16(uint8_t *to, uint16_t value) { __builtin_memcpy(to, &value, sizeof value); }
static inline void retick_store32(uint8_t *to, uint32_t value) { __builtin_memcpy(to, &value, sizeof value); }
static inline void retick_store64(uint8_t *to, uint64_t value) { __builtin_memcpy(to, &value, sizeof value); }
static inline void retick_store_float(uint8_t *to, float value) { __builtin_memcpy(to, &value, sizeof value); }

/* ---- blocks that the host passes ---- */

typedef struct {
  uint32_t seats;
  uint32_t ticks_per_second;
  const uint8_t *seed; /* 32 bytes */
  const uint8_t *config;
  uint32_t config_length;
} retick_init_block;

static inline retick_init_block retick_read_init(const uint8_t *block) {
  retick_init_block init = {retick_load32(block), retick_load32(block + 4), block + 8, block + 44, retick_load32(block + 40)};
  return init;
}

typedef struct {
  const uint8_t *block;
  uint64_t tick;
  uint32_t seats;
  uint32_t commands;
} retick_step_block;

static inline retick_step_block retick_read_step(const uint8_t *block) {
  retick_step_block step = {block, retick_load64(block), retick_load32(block + 8), retick_load32(block + 12)};
  return step;
}

enum retick_presence { RETICK_EMPTY, RETICK_HUMAN, RETICK_BOT, RETICK_DISCONNECTED };

typedef struct {
  const uint8_t *input; /* as many bytes as the input schema says, already checked against it */
  uint32_t input_length;
  bool substituted;
  bool malformed;
  enum retick_presence presence;
  uint32_t epoch;
} retick_seat;

/* The seat of this number, below `step->seats`. */
static inline retick_seat retick_seat_at(const retick_step_block *step, uint32_t number) {
  const uint8_t *record = step->block + 16 + 16 * number;
  uint32_t flags = retick_load32(record + 8);
  retick_seat seat = {step->block + retick_load32(record), retick_load32(record + 4), (flags & 1) != 0, (flags & 2) != 0,
                      (enum retick_presence)(flags >> 8 & 0xFF), retick_load32(record + 12)};
  return seat;
}

#define RETICK_AUTHORITY 0xFFFFFFFFu

typedef struct {
  const uint8_t *payload; /* any bytes that somebody sent: the game decodes them, and counts what it skips */
  uint32_t length;
  uint32_t source; /* a seat's number, or RETICK_AUTHORITY */
} retick_command;

/* The command of this number, below `step->commands`. */
static inline retick_command retick_command_at(const retick_step_block *step, uint32_t number) {
  const uint8_t *record = step->block + 16 + 16 * step->seats + 12 * number;
  retick_command command = {step->block + retick_load32(record), retick_load32(record + 4), retick_load32(record + 8)};
  return command;
}

/* ---- the fields of an input, in the order of the schema ---- */

typedef struct {
  const uint8_t *bytes;
  uint32_t used;
} retick_bits;

static inline retick_bits retick_fields(const retick_seat *seat) {
  retick_bits bits = {seat->input, 0};
  return bits;
}

/* How many bits a value from 0 to `greatest` takes. */
static inline uint32_t retick_width(uint64_t greatest) {
  return greatest == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(greatest);
}

/* The next `count` bits, the least significant one first. */
static inline uint64_t retick_take(retick_bits *bits, uint32_t count) {
  uint64_t value = 0;
  for (uint32_t bit = 0; bit < count; bit += 1, bits->used += 1) {
    value |= (uint64_t)(bits->bytes[bits->used / 8] >> bits->used % 8 & 1) << bit;
  }
  return value;
}

/* An integer, or an axis in its own units: its distance from the least value stands there. */
static inline int64_t retick_take_integer(retick_bits *bits, int64_t least, int64_t greatest) {
  return (int64_t)((uint64_t)least + retick_take(bits, retick_width((uint64_t)greatest - (uint64_t)least)));
}

static inline bool retick_take_boolean(retick_bits *bits) { return retick_take(bits, 1) != 0; }

static inline uint32_t retick_take_choice(retick_bits *bits, uint32_t choices) {
  return (uint32_t)retick_take(bits, retick_width(choices - 1));
}

static inline uint64_t retick_take_flags(retick_bits *bits, uint32_t count) { return retick_take(bits, count); }

/* ---- the description: call in this order ----
 *
 *   retick_describe_begin, retick_input_begin, one retick_input_… for each field, retick_state_schema,
 *   retick_config_begin and one retick_config_… for each field (or retick_config_empty), retick_describe_end.
 */

typedef struct {
  uint8_t *bytes;
  uint32_t capacity;
  uint32_t length;
  uint32_t part; /* where the current part begins */
} retick_description;

enum retick_capability { RETICK_COMMANDS = 1, RETICK_PROJECTION = 2 };
/* What a prediction or a substitute does with a field of the last input: repeat it, or make it neutral (a pulse is `once`). */
enum retick_policy { RETICK_REPEAT, RETICK_NEUTRAL, RETICK_ONCE };

static inline uint8_t *retick_room(retick_description *to, uint32_t length) {
  if (length > to->capacity - to->length) retick_give_up("the description needs more room");
  uint8_t *room = to->bytes + to->length;
  to->length += length;
  return room;
}

static inline void retick_put8(retick_description *to, uint8_t value) { *retick_room(to, 1) = value; }
static inline void retick_put32(retick_description *to, uint32_t value) { retick_store32(retick_room(to, 4), value); }
static inline void retick_put64(retick_description *to, uint64_t value) { retick_store64(retick_room(to, 8), value); }

static inline void retick_put_text(retick_description *to, const char *text) {
  for (; *text != 0; text += 1) retick_put8(to, (uint8_t)*text);
}

/* An unsigned number in as few bytes as it needs: itself, or a mark and its 2, 4 or 8 bytes. */
static inline void retick_put_varint(retick_description *to, uint64_t value) {
  if (value < 251) {
    retick_put8(to, (uint8_t)value);
  } else if (value <= 0xFFFF) {
    retick_put8(to, 251);
    retick_store16(retick_room(to, 2), (uint16_t)value);
  } else if (value <= 0xFFFFFFFF) {
    retick_put8(to, 252);
    retick_put32(to, (uint32_t)value);
  } else {
    retick_put8(to, 253);
    retick_put64(to, value);
  }
}

/* A signed number: 0, -1, 1, -2 … count as 0, 1, 2, 3 … */
static inline void retick_put_signed(retick_description *to, int64_t value) {
  retick_put_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* Ends a part: its length goes into the header's word at `offset`. */
static inline void retick_end_part(retick_description *to, uint32_t offset) {
  retick_store32(to->bytes + offset, to->length - to->part);
  to->part = to->length;
}

static inline void retick_describe_begin(retick_description *to, uint8_t *bytes, uint32_t capacity, uint32_t ticks_per_second,
                                         uint32_t fewest_seats, uint32_t most_seats, uint32_t capabilities) {
  *to = (retick_description){bytes, capacity, 0, 32};
  const uint32_t header[8] = {RETICK_ABI_VERSION, ticks_per_second, fewest_seats, most_seats, capabilities, 0, 0, 0};
  for (int word = 0; word < 8; word += 1) retick_put32(to, header[word]);
}

static inline void retick_input_begin(retick_description *to, const char *id, uint32_t fields) {
  retick_put_varint(to, retick_text_length(id));
  retick_put_text(to, id);
  retick_put_varint(to, fields);
}

/* A field's name and the number of its kind; its limits and its policy follow. */
static inline void retick_input_field(retick_description *to, const char *name, uint8_t kind) {
  retick_put_varint(to, retick_text_length(name));
  retick_put_text(to, name);
  retick_put8(to, kind);
}

static inline void retick_input_integer(retick_description *to, const char *name, int64_t least, int64_t greatest,
                                        enum retick_policy policy) {
  retick_input_field(to, name, 0);
  retick_put_signed(to, least);
  retick_put_signed(to, greatest);
  retick_put8(to, policy);
}

static inline void retick_input_boolean(retick_description *to, const char *name, enum retick_policy policy) {
  retick_input_field(to, name, 1);
  retick_put8(to, policy);
}

static inline void retick_input_choice(retick_description *to, const char *name, uint32_t choices, enum retick_policy policy) {
  retick_input_field(to, name, 2);
  retick_put_varint(to, choices);
  retick_put8(to, policy);
}

static inline void retick_input_flags(retick_description *to, const char *name, uint8_t count, enum retick_policy policy) {
  retick_input_field(to, name, 3);
  retick_put8(to, count);
  retick_put8(to, policy);
}

/* A fixed-point axis: `least` to `greatest` in units of 2^-`fraction_bits`. */
static inline void retick_input_axis(retick_description *to, const char *name, int64_t least, int64_t greatest,
                                     uint8_t fraction_bits, enum retick_policy policy) {
  retick_input_field(to, name, 4);
  retick_put_signed(to, least);
  retick_put_signed(to, greatest);
  retick_put8(to, fraction_bits);
  retick_put8(to, policy);
}

/* Ends the input schema, and names the layout of the state. */
static inline void retick_state_schema(retick_description *to, const char *id) {
  retick_end_part(to, 20);
  retick_put_text(to, id);
  retick_end_part(to, 24);
}

/* A config schema's head; its numbers have a fixed width. */
static inline void retick_config_begin(retick_description *to, const char *id, uint32_t version, uint64_t max_bytes,
                                       uint64_t fields) {
  retick_put64(to, retick_text_length(id));
  retick_put_text(to, id);
  retick_put32(to, version);
  retick_put64(to, max_bytes);
  retick_put64(to, fields);
}

/* The schema of a game that has nothing to configure. */
static inline void retick_config_empty(retick_description *to) { retick_config_begin(to, "empty", 1, 0, 0); }

static inline void retick_config_field(retick_description *to, const char *name, uint32_t kind) {
  retick_put64(to, retick_text_length(name));
  retick_put_text(to, name);
  retick_put32(to, kind);
}

static inline void retick_config_integer(retick_description *to, const char *name, int64_t least, int64_t greatest) {
  retick_config_field(to, name, 0);
  retick_put64(to, (uint64_t)least);
  retick_put64(to, (uint64_t)greatest);
}

static inline void retick_config_boolean(retick_description *to, const char *name) { retick_config_field(to, name, 1); }

static inline void retick_config_text(retick_description *to, const char *name, uint32_t max_bytes) {
  retick_config_field(to, name, 2);
  retick_put32(to, max_bytes);
}

static inline void retick_config_bytes(retick_description *to, const char *name, uint32_t max_bytes) {
  retick_config_field(to, name, 3);
  retick_put32(to, max_bytes);
}

/* What `retick_describe` returns. */
static inline int64_t retick_describe_end(retick_description *to) {
  retick_end_part(to, 28);
  return retick_span(to->bytes, to->length);
}

#endif
