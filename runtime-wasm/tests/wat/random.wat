(module
  (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1 1)
;; interface
  (func (export "retick_step") (param i32 i32) (result i32) (i32.const 0)))
