//! The kit can fail: every planted fault is caught, and the faultless model is not.

use std::sync::OnceLock;

use leasehold_conformance::meta::Fault;
use leasehold_conformance::meta::matrix::{self, Matrix};

/// The matrix takes seconds, so all tests look at one.
fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| matrix::run(&mut |_| {}))
}

#[test]
fn the_faultless_model_is_green() {
    assert_eq!(matrix().false_alarms, Vec::<String>::new());
}

#[test]
fn every_fault_is_caught() {
    assert_eq!(matrix().escaped(), Vec::<Fault>::new());
}

#[test]
fn every_fault_is_caught_by_a_case_of_the_clause_it_breaks() {
    assert_eq!(matrix().caught_elsewhere(), Vec::<Fault>::new());
}
