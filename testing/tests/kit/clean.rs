//! The clean twins pass every proof for 10,000 ticks: what the kit flags is the fault, and nothing else. Two of them show their machine's
//! memory as it is, so that the cases can read it: in their states there is no fault, and in their pictures there is one.

use retick_testing::assert::{Compared, GameFault};
use retick_testing::twins::{Kind, every_twin};

use crate::proofs::PROOFS;

const TICKS: u64 = 10_000;

fn check(name: &str) {
    let twin = every_twin().into_iter().find(|twin| twin.name == name).expect("a twin");
    assert_ne!(twin.kind, Kind::Faulty);
    for proof in PROOFS {
        let said = proof.check(&twin, TICKS);
        match said {
            Err(fault) if twin.kind == Kind::CleanInState => {
                let shown = matches!(fault, GameFault::Differs { compared: Compared::Pictures { .. }, .. });
                assert!(shown, "{name}, {}: {fault}", proof.name);
            }
            Err(fault) => panic!("{name}, {}: {fault}", proof.name),
            Ok(_) => {}
        }
    }
}

/// One test for each, so that they run beside each other.
macro_rules! clean {
    ($($test:ident = $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn t4_every_clean_twin_has_its_test() {
            let tested = [$($name),*];
            let clean = every_twin().into_iter().filter(|twin| twin.kind != Kind::Faulty);
            assert_eq!(clean.map(|twin| twin.name).collect::<Vec<_>>(), tested);
        }
    };
}

clean! {
    t4_tally_passes_every_proof_for_10_000_ticks = "Tally",
    t4_an_honest_counter_passes_every_proof_for_10_000_ticks = "HonestCounter",
    t4_ordered_ids_pass_every_proof_for_10_000_ticks = "OrderedIds",
    t4_an_order_by_number_passes_every_proof_for_10_000_ticks = "ByNumber",
    t4_a_duel_by_seat_passes_every_proof_for_10_000_ticks = "BySeat",
    t4_a_logical_form_passes_every_proof_for_10_000_ticks = "LogicalForm",
    t4_canonical_nans_pass_every_proof_for_10_000_ticks = "NanBits",
    t4_steady_events_pass_every_proof_for_10_000_ticks = "Steady",
}
