//! Skirmish as a module: the exports, the allocator and the panic handler. Everything else is the crate `skirmish`.
#![no_std]

retick_guest::export_game!(skirmish::Skirmish);
retick_guest::no_std_runtime!();
