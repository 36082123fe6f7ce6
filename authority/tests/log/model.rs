//! A log in files is a log in memory that survives.

use proptest::prelude::*;
use retick_authority::log::file::{Durability, FileLogConfig, SegmentSize};
use retick_authority::log::{FrameLog, MemoryLog};

use crate::disk::{Disk, config};

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<u8>),
    Read(u64),
    Sync,
    /// The log is opened again, with segments of another size.
    Reopen(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..400).prop_map(Step::Append),
        1 => prop::collection::vec(any::<u8>(), 40_000..90_000).prop_map(Step::Append),
        6 => (0_u64..60).prop_map(Step::Read),
        1 => Just(Step::Sync),
        1 => (1024_u64..100_000).prop_map(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a12_any_use_of_it_gives_what_a_log_in_memory_gives(steps in prop::collection::vec(step(), 1..80)) {
        let (disk, mut model) = (Disk::new(), MemoryLog::new());
        let of_size = |bytes| FileLogConfig {
            durability: Durability::None,
            segment_size: SegmentSize::new(bytes).unwrap(),
            ..config()
        };
        let mut log = disk.log(of_size(2048));
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Append(record) => {
                    log.append(log.next_sequence(), &record).unwrap();
                    model.append(model.next_sequence(), &record).unwrap();
                }
                Step::Read(sequence) => {
                    let read = log.read_into(sequence, &mut found).unwrap();
                    prop_assert_eq!(read, model.read_into(sequence, &mut expected).unwrap());
                    prop_assert_eq!(&found, &expected);
                }
                Step::Sync => prop_assert_eq!(log.sync().unwrap(), model.next_sequence().checked_sub(1).filter(|last| *last > 0)),
                Step::Reopen(bytes) => {
                    drop(log);
                    log = disk.log(of_size(bytes));
                    prop_assert_eq!(log.recovery().cut_bytes, 0);
                }
            }
            prop_assert_eq!(log.next_sequence(), model.next_sequence());
        }
        let mut log = disk.log(of_size(1024));
        for (sequence, record) in model.records() {
            prop_assert!(log.read_into(sequence, &mut found).unwrap());
            prop_assert_eq!(&found[..], record);
        }
    }
}
