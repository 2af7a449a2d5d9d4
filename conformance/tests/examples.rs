//! The two stores of `examples/` pass the kit, one test a case, and the small one is as small as it says.

#[path = "../examples/cell_store.rs"]
mod cell_store;
#[path = "../examples/whole_trait.rs"]
mod whole_trait;

mod map {
    leasehold_conformance::conformance_suite!(super::cell_store::MapHarness);
}

mod line {
    leasehold_conformance::conformance_suite!(super::whole_trait::LineHarness);
}

#[test]
fn a_whole_store_has_under_sixty_lines_imports_aside() {
    let text = include_str!("../examples/cell_store.rs");
    let (store, _harness) = text.split_once("/// What the kit needs to know of it.").unwrap();
    let (_imports, store) = store.split_once("use leasehold_conformance").unwrap();
    let (_imports, store) = store.split_once(";\n").unwrap();
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    assert!(store.lines().filter(is_code).count() < 60);
}
