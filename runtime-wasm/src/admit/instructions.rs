//! The allow-list of instructions, by proposal, and the few of the allowed proposals that are refused by name.

use wasmparser::Operator;

use crate::error::LoadError;

/// Proposals whose instructions are allowed.
const PROPOSALS: [&str; 6] =
    ["mvp", "sign_extension", "saturating_float_to_int", "reference_types", "bulk_memory", "simd"];

/// Instructions of these that would make tables and segments part of the state.
const STATEFUL: [&str; 8] =
    ["table_set", "table_grow", "table_fill", "table_copy", "table_init", "elem_drop", "memory_init", "data_drop"];

/// Refuses an instruction that is not on the list.
pub(super) fn check(operator: &Operator<'_>, function: u32) -> Result<(), LoadError> {
    let (proposal, name) = described(operator);
    let feature = if !PROPOSALS.contains(&proposal) {
        proposal.replace('_', "-")
    } else if STATEFUL.contains(&name) {
        String::from("changing tables and segments")
    } else {
        return Ok(());
    };
    Err(LoadError::Instruction { instruction: text_name(name), feature, function })
}

/// The name as in the text format, or close to it: what stands before the dot is a type or a space.
fn text_name(name: &str) -> String {
    let control = ["br_", "call_", "return_", "try_", "throw_"].iter().any(|prefix| name.starts_with(prefix));
    if control { name.to_owned() } else { name.replacen('_', ".", 1) }
}

/// Whether an instruction may stand in a constant expression without the extended-const proposal.
pub(super) fn is_plain_constant(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::I32Const { .. }
            | Operator::I64Const { .. }
            | Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::V128Const { .. }
            | Operator::GlobalGet { .. }
            | Operator::RefNull { .. }
            | Operator::RefFunc { .. }
            | Operator::End
    )
}

/// How many ways part or meet by an instruction.
pub(crate) fn ways(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::If { .. }
        | Operator::Br { .. }
        | Operator::BrIf { .. } => 1,
        // What is in the table may have to be made first.
        Operator::CallIndirect { .. } | Operator::TableGet { .. } => 3,
        Operator::BrTable { targets } => u64::from(targets.len()) + 1,
        _ => 0,
    }
}

/// An instruction's proposal and name, from the parser's own table.
fn described(operator: &Operator<'_>) -> (&'static str, &'static str) {
    macro_rules! table {
        ($( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
            match operator {
                $( Operator::$op { .. } => (stringify!($proposal), stringify!($visit)), )*
                _ => ("unknown", "visit_unknown"),
            }
        }
    }
    let (proposal, visit) = wasmparser::for_each_operator!(table);
    (proposal, visit.trim_start_matches("visit_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_instructions_are_named_as_in_the_text_format() {
        let refusal = |operator| check(&operator, 3);
        assert_eq!(refusal(Operator::MemoryCopy { dst_mem: 0, src_mem: 0 }), Ok(()));
        assert_eq!(refusal(Operator::TableGet { table: 0 }), Ok(()));
        let grow = LoadError::Instruction {
            instruction: "table.grow".into(),
            feature: "changing tables and segments".into(),
            function: 3,
        };
        assert_eq!(refusal(Operator::TableGrow { table: 0 }), Err(grow));
        let relaxed = LoadError::Instruction {
            instruction: "f32x4.relaxed_madd".into(),
            feature: "relaxed-simd".into(),
            function: 3,
        };
        assert_eq!(refusal(Operator::F32x4RelaxedMadd), Err(relaxed));
        // Every name in the list is one that the parser knows.
        assert_eq!(described(&Operator::DataDrop { data_index: 0 }).1, "data_drop");
        assert_eq!(described(&Operator::ElemDrop { elem_index: 0 }).1, "elem_drop");
    }
}
