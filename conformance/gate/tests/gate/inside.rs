//! `inside`: whether a gated poll is under way.

use leasehold_gate as gate;

#[test]
fn it_is_true_in_a_gated_poll_alone() {
    assert!(!gate::inside());
    assert!(gate::during(gate::inside).0);
    assert!(!gate::inside());
    let elsewhere = || std::thread::scope(|scope| scope.spawn(gate::inside).join().expect("no panic"));
    let (elsewhere, _) = gate::during(elsewhere);
    assert!(!elsewhere, "another thread is in no poll");
}

#[test]
fn it_is_false_where_the_poll_is_excused() {
    assert!(!gate::during(|| gate::allow("tried", gate::inside)).0);
}
