;; fills and copies as many bytes as the input says
(module
  (memory (export "memory") 4 4)
;; interface
  (func (export "retick_step") (param $block i32) (param i32) (result i32)
    (memory.fill (i32.const 65536) (i32.const 7) (call $input (local.get $block)))
    (memory.copy (i32.const 131072) (i32.const 65536) (call $input (local.get $block)))
    (i32.const 0)))
