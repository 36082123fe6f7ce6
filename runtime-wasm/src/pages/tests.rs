//! Checkpoints by pages against whole copies, under every tracker.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linear;
mod map;
mod rig;
mod scripts;
mod store;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod userfault;
