//! Modules are compiled once: in a process, and across processes through a directory that only this user may write.

use std::fs;
use std::path::{Path, PathBuf};

use retick_core::runtime::{Runtime, RuntimeFactory};
use retick_wasm::{DirectoryRefusal, Limits, LoadError, ModuleCache, Tracking};

use crate::support::{Match, module};

const GROW: &str = include_str!("../wat/grow.wat");

/// A directory of its own for each test, closed to others, and gone at its end. The system's place for these is one where nobody
/// can rename what is another's, which a checkout need not be.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // A test that failed has said why already.
        let _left = fs::remove_dir_all(&self.0);
    }
}

impl std::ops::Deref for Directory {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

fn directory(name: &str) -> Directory {
    let directory = std::env::temp_dir().join(format!("retick-cache-{name}-{}", std::process::id()));
    fs::create_dir(&directory).expect("a place for tests");
    allow(&directory, 0o700);
    Directory(directory)
}

#[cfg(unix)]
fn allow(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("this test's own");
}

#[cfg(not(unix))]
fn allow(_: &Path, _: u32) {}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).expect("there").map(|entry| entry.expect("readable").path()).collect()
}

/// W1: the same bytes under the same limits are compiled once; anything else is another module.
#[test]
fn w1_a_module_is_compiled_once() {
    let (grow, loops) = (module(GROW), module(include_str!("../wat/loop.wat")));
    let mut cache = ModuleCache::in_memory();
    let few = Limits { memory_pages: 3, ..Limits::default() };
    for _ in 0..3 {
        cache.load(&grow, Limits::default()).expect("loads");
        cache.load(&grow, few).expect("loads");
        cache.load(&loops, Limits::default()).expect("loads");
        cache.load_tracking(&grow, few, Tracking::ComparePages).expect("loads");
    }
    assert_eq!((cache.compiled(), cache.len()), (4, 4));
    let refused = cache.load(b"no module", few).err();
    assert!(matches!(refused, Some(LoadError::Invalid { .. })), "{refused:?}");
    cache.clear();
    cache.load(&grow, few).expect("loads");
    assert!((cache.compiled(), cache.len(), cache.is_empty()) == (6, 1, false));
}

/// W1: what another process compiled plays the same match, and tells the same of itself.
#[test]
fn w1_a_directory_keeps_modules_for_the_next_process() {
    let directory = directory("kept");
    let grow = module(GROW);
    let play = |cache: &mut ModuleCache| {
        let factory = cache.load(&grow, Limits::default()).expect("loads");
        let mut game = Match::of(&factory);
        game.step(5);
        (factory.manifest().identity(), *factory.report(), game.checksum())
    };
    let mut first = ModuleCache::trusting_directory(&directory).expect("our own");
    let played = play(&mut first);
    assert_eq!((first.compiled(), files(&directory).len()), (1, 1));
    let mut second = ModuleCache::trusting_directory(&directory).expect("our own");
    assert_eq!((play(&mut second), second.compiled()), (played, 0));
}

/// W6: whether the kernel protects pages is each process's own matter, so that a file may hold code without the marks that this
/// process needs. It is compiled anew.
#[test]
fn w6_code_without_marks_is_none_for_the_dirty_map() {
    let directory = directory("marks");
    let grow = module(GROW);
    let load = |tracking| {
        let mut cache = ModuleCache::trusting_directory(&directory).expect("our own");
        let factory = cache.load_tracking(&grow, Limits::default(), tracking).expect("loads");
        (cache.compiled(), factory)
    };
    assert_eq!(load(Tracking::ComparePages).0, 1);
    let unmarked = files(&directory).pop().expect("one file");
    assert_eq!(load(Tracking::DirtyMap).0, 1);
    let marked = files(&directory).into_iter().find(|file| *file != unmarked).expect("two files");
    fs::copy(&unmarked, &marked).expect("writable");
    let (compiled, factory) = load(Tracking::DirtyMap);
    assert_eq!(compiled, 1);
    let mut game = Match::of(&factory);
    let before = game.checkpoint();
    let (word, checksum) = (game.word(4), game.checksum());
    game.step(5);
    assert_ne!(game.checksum(), checksum);
    game.runtime.restore(before).expect("there");
    assert_eq!((game.word(4), game.checksum()), (word, checksum));
}

/// A file that is cut, changed or another's is as good as none: it is compiled anew, and the file is whole again.
#[test]
fn w1_a_damaged_file_is_compiled_again() {
    let directory = directory("damaged");
    let grow = module(GROW);
    let load = || {
        let mut cache = ModuleCache::trusting_directory(&directory).expect("our own");
        cache.load(&grow, Limits::default()).expect("loads");
        cache.compiled()
    };
    assert_eq!(load(), 1);
    let file = files(&directory).pop().expect("one file");
    let whole = fs::read(&file).expect("readable");
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    // The hash, keyed by the file's own name, of what is no engine's code.
    let name = file.file_stem().and_then(|name| name.to_str()).expect("a name in hexadecimal");
    let key = blake3::Hash::from_hex(name).expect("a name in hexadecimal");
    let foreign = [&blake3::keyed_hash(key.as_bytes(), &[7; 200]).as_bytes()[..], &[7; 200]].concat();
    for damaged in [&[][..], &whole[..31], &whole[..whole.len() - 1], &changed, &foreign] {
        fs::write(&file, damaged).expect("writable");
        assert_eq!((load(), load()), (1, 0), "{} bytes", damaged.len());
        assert!(fs::read(&file).expect("readable") == whole);
    }
}

/// A file under another module's name is not that module's code.
#[test]
fn w1_a_file_under_another_name_is_not_loaded() {
    let directory = directory("renamed");
    let modules = [module(GROW), module(include_str!("../wat/loop.wat"))];
    let load = |module: &[u8]| {
        let mut cache = ModuleCache::trusting_directory(&directory).expect("our own");
        cache.load(module, Limits::default()).expect("loads");
        cache.compiled()
    };
    load(&modules[0]);
    let one = files(&directory).pop().expect("one file");
    load(&modules[1]);
    let other = files(&directory).into_iter().find(|file| *file != one).expect("another file");
    fs::copy(&one, &other).expect("writable");
    assert_eq!((load(&modules[0]), load(&modules[1]), load(&modules[1])), (0, 1, 0));
}

/// A directory that others may write could hold their code; it is refused by name.
#[cfg(unix)]
#[test]
fn w1_a_directory_that_others_may_write_is_refused() {
    let open = directory("open");
    let refusal = |path: &Path| ModuleCache::trusting_directory(path).err();
    for mode in [0o720, 0o702, 0o777, 0o1777] {
        allow(&open, mode);
        assert_eq!(refusal(&open), Some(DirectoryRefusal::Writable), "{mode:o}");
    }
    allow(&open, 0o700);
    let inside = open.join("inside");
    fs::create_dir(&inside).expect("a place for tests");
    allow(&inside, 0o700);
    allow(&open, 0o777);
    assert_eq!(refusal(&inside), Some(DirectoryRefusal::Writable), "its parent is open");
    allow(&open, 0o700);
    assert_eq!(refusal(&inside), None);
    let link = open.join("link");
    std::os::unix::fs::symlink(&inside, &link).expect("a place for tests");
    fs::write(open.join("file"), "").expect("a place for tests");
    assert_eq!(refusal(&link), Some(DirectoryRefusal::NotADirectory));
    assert_eq!(refusal(&open.join("file")), Some(DirectoryRefusal::NotADirectory));
    assert_eq!(refusal(&open.join("missing")), Some(DirectoryRefusal::Unreadable));
}

/// A directory of another user's, or in one of another user's, is refused by name. Only root can give a directory away; whoever else
/// runs this has the other refusals.
#[cfg(unix)]
#[test]
fn w1_a_directory_of_another_user_is_refused() {
    use std::os::unix::fs::chown;

    const SOMEBODY: Option<u32> = Some(54_321);
    let outer = directory("owner");
    let inner = outer.join("inner");
    fs::create_dir(&inner).expect("a place for tests");
    allow(&inner, 0o700);
    let refusal = |path: &Path| ModuleCache::trusting_directory(path).err();
    assert_eq!((refusal(&outer), refusal(&inner)), (None, None));
    if chown(&*outer, SOMEBODY, None).is_err() {
        return;
    }
    assert_eq!(refusal(&outer), Some(DirectoryRefusal::Owner));
    assert_eq!(refusal(&inner), Some(DirectoryRefusal::Owner), "its parent is somebody's");
    assert!(files(&outer) == [inner], "nothing is left there");
}
