;; what runs before the description never returns
(module
  (memory (export "memory") 1 1)
;; interface
  (func (export "_initialize") (loop $forever (br $forever)))
  (func (export "retick_step") (param i32 i32) (result i32) (i32.const 0)))
