;; A game of two seats with a state in every place that a batch could leave something: memory, a global, and pages that grow.
;; Its first bytes are the mix of all inputs and a count of steps, which is the projection too. Seat 1's input 77 makes a step
;; fail after it has written, emitted and grown.
(module
  (import "retick" "emit" (func $emit (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (global $steps (mut i64) (i64.const 0))
  (func (export "retick_abi") (result i32) (i32.const 1))
  (func (export "retick_buffer") (param i32) (result i32) (i32.const 32768))
  (func (export "retick_describe") (result i64) (i64.const {span}))
  (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))
  (func (export "retick_project") (result i64) (i64.const 16))
  (data (i32.const 4096) "{description}")
  ;; The four bytes of the input whose record begins at this offset of the block.
  (func $input (param $block i32) (param $record i32) (result i32)
    (i32.load (i32.add
      (local.get $block)
      (i32.load (i32.add (local.get $block) (local.get $record))))))
  (func $mix (param $input i32)
    (i64.store (i32.const 0) (i64.add
      (i64.mul (i64.load (i32.const 0)) (i64.const 31))
      (i64.extend_i32_u (local.get $input)))))
  (func (export "retick_step") (param $block i32) (param $length i32) (result i32)
    (local $first i32)
    (local $second i32)
    (local.set $first (call $input (local.get $block) (i32.const 16)))
    (local.set $second (call $input (local.get $block) (i32.const 32)))
    (global.set $steps (i64.add (global.get $steps) (i64.const 1)))
    (call $mix (local.get $first))
    (call $mix (local.get $second))
    (i64.store (i32.const 8) (global.get $steps))
    (call $emit (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 16))
    ;; Inputs are counted from the least one.
    (if (i32.eq (local.get $second) (i32.const 0x8000004d)) (then
      (drop (memory.grow (i32.const 2)))
      (i32.store (i32.const 70000) (i32.const 7))
      unreachable))
    ;; No command is one of this game.
    (i32.load offset=12 (local.get $block))))
