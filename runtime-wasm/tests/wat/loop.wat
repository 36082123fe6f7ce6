;; input 7 never returns; any other adds 1 to word 0
(module
  (memory (export "memory") 1 1)
;; interface
  (func (export "retick_step") (param $block i32) (param i32) (result i32)
    (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
    (if (i32.eq (call $input (local.get $block)) (i32.const 7))
      (then (loop $forever (br $forever))))
    (i32.const 0)))
