;; Emits what its input says. Word 0 counts steps; the payload stands at 512.
(module
  (import "retick" "log" (func $log (param i32 i32)))
  (import "retick" "emit" (func $emit (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 1 1)
;; interface
  (data (i32.const 512) "bang")
  (func $is (param $input i32) (param $which i32) (result i32) (i32.eq (local.get $input) (local.get $which)))
  (func (export "retick_project") (result i64)
    (if (i32.eq (i32.load (i32.const 4)) (i32.const 2000)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 0))))
    (i64.const 4))
  (func (export "retick_step") (param $block i32) (param $len i32) (result i32)
    (local $in i32)
    (local $left i32)
    (local.set $in (call $input (local.get $block)))
    (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
    (i32.store (i32.const 4) (local.get $in))
    ;; Beyond the memory, and beyond 16 bits.
    (if (call $is (local.get $in) (i32.const 1000)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 65535) (i32.const 2))))
    (if (call $is (local.get $in) (i32.const 1001)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const -1) (i32.const -1))))
    (if (call $is (local.get $in) (i32.const 1002)) (then
      (call $emit (i32.const 65536) (i32.const 1) (i32.const 1) (i32.const 512) (i32.const 4))))
    (if (call $is (local.get $in) (i32.const 1003)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 65536) (i32.const 512) (i32.const 4))))
    (if (call $is (local.get $in) (i32.const 1004)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 512) (i32.const 4))
      unreachable))
    ;; One byte more than an event may have, but inside the memory.
    (if (call $is (local.get $in) (i32.const 1005)) (then
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 512) (i32.const 1024))
      (call $emit (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 512) (i32.const 1025))))
    (if (i32.lt_u (local.get $in) (i32.const 1000)) (then
      (local.set $left (local.get $in))
      (block $done (loop $more
        (br_if $done (i32.eqz (local.get $left)))
        (call $emit (i32.const 65535) (i32.const -1) (i32.const 7) (i32.const 512) (i32.const 4))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $more)))))
    (i32.const 0)))
