(module
  (import "env" "memory" (memory 1))
;; interface
  (func (export "retick_step") (param i32 i32) (result i32) (i32.const 0)))
