;; Counts its steps in word 0. Seat 0's input 7 in a step makes it count and then never return.
(module
  (memory (export "memory") 1)
  (func (export "retick_abi") (result i32) (i32.const 1))
  (func (export "retick_buffer") (param i32) (result i32) (i32.const 32768))
  (func (export "retick_describe") (result i64) (i64.const {span}))
  (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))
  (func (export "retick_project") (result i64) (i64.const 4))
  (data (i32.const 4096) "{description}")
  (func (export "retick_step") (param $block i32) (param $length i32) (result i32)
    (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
    ;; Inputs are counted from the least one; the record of seat 0 begins with where its input is.
    (if (i32.eq
          (i32.load (i32.add (local.get $block) (i32.load offset=16 (local.get $block))))
          (i32.const 0x80000007))
      (then (loop $forever (br $forever))))
    (i32.load offset=12 (local.get $block))))
