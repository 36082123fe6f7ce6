;; input 0: f64 at 0 := 0/0; 1: sqrt(-1); 2: f32 at 8 := inf - inf;
;; input 3: a NaN of payload 0x123 through an addition, at 16; 4: lanes of 0/0 at 32
(module
  (memory (export "memory") 1 1)
  (global $z (mut f64) (f64.const 0))
  (global $zf (mut f32) (f32.const inf))
;; interface
  (func (export "retick_step") (param $block i32) (param i32) (result i32)
    (local $op i32)
    (local.set $op (call $input (local.get $block)))
    (if (i32.eqz (local.get $op)) (then
      (f64.store (i32.const 0) (f64.div (global.get $z) (global.get $z)))))
    (if (i32.eq (local.get $op) (i32.const 1)) (then
      (f64.store (i32.const 0) (f64.sqrt (f64.sub (global.get $z) (f64.const 1))))))
    (if (i32.eq (local.get $op) (i32.const 2)) (then
      (f32.store (i32.const 8) (f32.sub (global.get $zf) (global.get $zf)))))
    (if (i32.eq (local.get $op) (i32.const 3)) (then
      (f64.store (i32.const 16) (f64.add (f64.reinterpret_i64 (i64.const 0x7FF8000000000123)) (f64.const 1)))))
    (if (i32.eq (local.get $op) (i32.const 4)) (then
      (v128.store (i32.const 32)
        (f64x2.div (f64x2.splat (global.get $z)) (f64x2.splat (global.get $z))))))
    (i32.const 0)))
