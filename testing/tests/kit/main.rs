//! T1, T3, T4: the kit itself. Its proofs pass what is right, name what is wrong, say when nothing was proved, and catch each planted
//! fault where `TWINS.md` says: that table is held against what is measured here.

mod alone;
mod clean;
mod networked;
mod premises;
mod proofs;
mod table;
