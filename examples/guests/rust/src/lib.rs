//! Forage as a module, or with the feature `goldens` the bits of math. Everything else is the crate `retick-example-guests`.
#![no_std]

#[cfg(feature = "goldens")]
retick_guest::export_game!(retick_example_guests::Goldens);
#[cfg(not(feature = "goldens"))]
retick_guest::export_game!(retick_example_guests::Forage);

retick_guest::no_std_runtime!();
