//! The kernel of stores as a module: the exports, the allocator and the panic handler. Everything else is the crate `retick-kernels`.
#![no_std]

retick_guest::export_game!(retick_kernels::StoreYard);
retick_guest::no_std_runtime!();
