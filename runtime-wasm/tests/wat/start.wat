;; the start function never returns
(module
  (memory (export "memory") 1 1)
;; interface
  (func $boot (loop $forever (br $forever)))
  (start $boot)
  (func (export "retick_step") (param i32 i32) (result i32) (i32.const 0)))
