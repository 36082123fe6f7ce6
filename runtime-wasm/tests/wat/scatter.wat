;; What the input's high byte says is done at its low three bytes, shifted left by 7; a projection that writes as well.
(module
  (memory (export "memory") 3)
  (global $sum (mut i64) (i64.const 0))
;; interface
  (data (i32.const 4000) "data from the start")
  (func (export "retick_project") (result i64)
    (i64.store (i32.const 100000) (i64.add (global.get $sum) (i64.const 1)))
    (memory.fill (i32.const 65536) (i32.const 7) (i32.const 9000))
    (global.set $sum (i64.const -1))
    (i64.const 0x000186A000000008))
  (func (export "retick_step") (param $block i32) (param i32) (result i32)
    (local $kind i32) (local $at i32)
    (local.set $at (call $input (local.get $block)))
    (local.set $kind (i32.shr_u (local.get $at) (i32.const 24)))
    (local.set $at (i32.and (local.get $at) (i32.const 0x1ffff)))
    (global.set $sum (i64.add (global.get $sum) (i64.extend_i32_u (local.get $at))))
    (block $done
      (block $wild (block $trap (block $grow (block $copy (block $fill (block $wide (block $double (block $byte (block $word
        (br_table $word $byte $double $wide $fill $copy $grow $trap $wild $wild (local.get $kind)))
        (i32.store (local.get $at) (local.get $at)) (br $done))
        (i32.store8 (local.get $at) (i32.const 0)) (br $done))
        (i64.store (local.get $at) (global.get $sum)) (br $done))
        (v128.store (local.get $at) (i64x2.splat (global.get $sum))) (br $done))
        (memory.fill (local.get $at) (i32.const 3) (i32.shr_u (local.get $at) (i32.const 3))) (br $done))
        (memory.copy (local.get $at) (i32.const 4000) (i32.const 5000)) (br $done))
        (drop (memory.grow (i32.and (local.get $at) (i32.const 3)))) (br $done))
        (i32.store (local.get $at) (i32.const 9)) unreachable)
      ;; Just beyond the limit, and just below zero.
      (i32.store (i32.const 64) (i32.const 9))
      (if (i32.eq (local.get $kind) (i32.const 8))
        (then (i32.store8 (i32.const 262144) (i32.const 1)))
        (else (i32.store8 (i32.const -1) (i32.const 1)))))
    (i32.const 0)))
