;; A state in every place that there is: word 0 of memory, and globals of each kind, none of them exported.
;; The inputs from 1000 on misbehave after the step has already written; word 0 is what a half-done step would leave.
(module
  (import "retick" "log" (func $log (param i32 i32)))
  (memory (export "memory") 2)
  (table 2 funcref)
  (elem (i32.const 0) $other)
  (type $nothing (func))
  (global $count (mut i64) (i64.const 5))
  (global $word (mut i32) (i32.const 1))
  (global $half (mut f32) (f32.const 0.5))
  (global $double (mut f64) (f64.const -0))
  (global $wide (mut v128) (v128.const i32x4 1 2 3 4))
;; interface
  (data (i32.const 512) "a line of \ff the log")
  (func $other (param i32))
  (func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))
  (func (export "retick_project") (result i64)
    ;; Everything that it may not change: memory, a global, the memory's size.
    (i32.store (i32.const 64) (i32.mul (i32.load (i32.const 0)) (i32.const 2)))
    (i64.store (i32.const 68) (global.get $count))
    (global.set $count (i64.const 99))
    (drop (memory.grow (i32.const 1)))
    (if (i32.eq (i32.load (i32.const 0)) (i32.const 2000)) (then unreachable))
    (i64.const 0x000000400000000c))
  (func $is (param $input i32) (param $which i32) (result i32) (i32.eq (local.get $input) (local.get $which)))
  (func (export "retick_step") (param $block i32) (param $len i32) (result i32)
    (local $in i32)
    (local.set $in (call $input (local.get $block)))
    (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (local.get $in)))
    (global.set $count (i64.add (global.get $count) (i64.extend_i32_u (local.get $in))))
    (global.set $word (i32.xor (global.get $word) (i32.shl (local.get $in) (i32.const 7))))
    (global.set $half (f32.mul (global.get $half) (f32.const 1.5)))
    (global.set $double (f64.sub (global.get $double) (f64.const 0.1)))
    (global.set $wide (i32x4.add (global.get $wide) (i32x4.splat (local.get $in))))
    ;; What is only in a global must show in memory later, so that a lost one can't hide.
    (i64.store (i32.const 8) (global.get $count))
    (v128.store (i32.const 16) (global.get $wide))
    (f64.store (i32.const 32) (global.get $double))
    (if (call $is (local.get $in) (i32.const 1000)) (then unreachable))
    (if (call $is (local.get $in) (i32.const 1001)) (then
      (drop (i32.div_u (i32.const 1) (i32.const 0)))))
    (if (call $is (local.get $in) (i32.const 1002)) (then
      (drop (i32.load (i32.const -8)))))
    (if (call $is (local.get $in) (i32.const 1003)) (then
      (call_indirect (type $nothing) (i32.const 0))))
    (if (call $is (local.get $in) (i32.const 1004)) (then
      (drop (call $deep (i32.const 0)))))
    (if (call $is (local.get $in) (i32.const 1005)) (then
      (drop (memory.grow (i32.const 3)))
      (i32.store (i32.const 300000) (i32.const 7))))
    (if (call $is (local.get $in) (i32.const 1006)) (then
      (call $log (i32.const 512) (i32.const 19))))
    (if (call $is (local.get $in) (i32.const 1007)) (then
      (call $log (i32.const 512) (i32.const -1))))
    (if (call $is (local.get $in) (i32.const 1008)) (then
      (return (i32.const 5))))
    (if (call $is (local.get $in) (i32.const 1009)) (then
      (call_indirect (type $nothing) (i32.const 1))))
    (if (call $is (local.get $in) (i32.const 1010)) (then
      (call_indirect (type $nothing) (i32.const 2))))
    (if (call $is (local.get $in) (i32.const 1011)) (then
      (loop $forever (br $forever))))
    (if (call $is (local.get $in) (i32.const 1012)) (then
      (drop (memory.grow (i32.const 3)))
      unreachable))
    ;; Of a step with commands, the first is malformed when it is empty.
    (if (result i32) (i32.load offset=12 (local.get $block))
      (then (i32.eqz (i32.load offset=36 (local.get $block))))
      (else (i32.const 0)))))
