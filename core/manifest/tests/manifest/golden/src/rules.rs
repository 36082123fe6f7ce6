pub fn rules() -> u32 {
    3
}
