pub fn step(state: u32) -> u32 {
    state + 1
}
