//! Environment variables, whose values never show up anywhere.

use std::collections::BTreeMap;

/// Whether a process can be given these variables; names the first that it can't, and never its value.
pub(crate) fn check_environment(environment: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in environment {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("a variable can't be named {name:?}"));
        }
        if value.contains('\0') {
            return Err(format!("the value of variable {name} has a NUL byte"));
        }
    }
    Ok(())
}
