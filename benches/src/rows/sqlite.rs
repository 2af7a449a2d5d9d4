//! The SQLite store against one prepared upsert stepped to its end, with the same pragmas.

use rusqlite::{Connection, params};

use super::{Hold, Row, five, open};
use crate::measure::Work;

pub(super) fn rows() -> Result<Vec<Row>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?.keep();
    let store = open(&format!("sqlite:{}", dir.join("leases.db").display()))?;
    let names = ["sqlite claim", "sqlite take", "sqlite renew", "sqlite inspect", "sqlite take + release"];
    five(names, "one prepared upsert", Hold::AtMost(1.4), &store, || floor(&dir).map_err(|e| e.to_string()))
}

fn floor(dir: &std::path::Path) -> Result<Work, rusqlite::Error> {
    let connection = Connection::open(dir.join("floor.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection
        .execute("CREATE TABLE IF NOT EXISTS leases (id TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID", [])?;
    let mut record = vec![7_u8; 100];
    Ok(Box::new(move |n| {
        let sql =
            "INSERT INTO leases VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET record = excluded.record";
        let mut upsert = connection.prepare_cached(sql).expect("it prepares");
        for _ in 0..n {
            record[0] = record[0].wrapping_add(1);
            upsert.execute(params!["sbx-7f3a9c1e2b4d5f60", record]).expect("it writes");
        }
    }))
}
