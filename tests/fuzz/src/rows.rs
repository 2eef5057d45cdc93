//! Rows in JSON Lines, JSON, CSV and TSV, also compressed.

use crate::datasets::{DatasetFile, check_rows, rows_of};
use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use flate2::Compression;
use flate2::write::GzEncoder;
use gage_config::{DatasetSpec, FileFormat};
use gage_data::Row;
use proptest::strategy::BoxedStrategy;
use std::io::Write as _;

/// Files of rows.
pub const TARGET: Target = Target { name: "rows", cases: 400, seeds, inputs, check };

const FORMATS: [FileFormat; 4] = [FileFormat::Jsonl, FileFormat::Json, FileFormat::Csv, FileFormat::Tsv];

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"\"",
    "'",
    "\\",
    "\\ud800",
    "\\u0000",
    "\n",
    "\r",
    "\r\n",
    "\t",
    ";",
    " ",
    "{\"q\":1}\n",
    "[{},",
    "\u{feff}",
    "\u{0}",
    "\u{2028}",
    "é",
    "null",
    "true",
    "-",
    "1e",
    ".",
    "q,a\n",
    "q\ta\n",
    "\"a\nb\"",
    "PAR1",
    "\u{1f}\u{8b}",
];

fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn seeds() -> Vec<Vec<u8>> {
    let lines = "{\"q\": \"a é\", \"n\": 1.5, \"l\": [1, {\"x\": null}]}\n\n{\"q\":\"b\",\"n\":123456789012345678901}\r\n{\"q\":\"c\"}";
    let table = "q,a,\"w,x\"\n1,\"two \"\"words\"\"\nand a line\",é\n,x,\n";
    let plain = [
        lines,
        "[{\"q\": \"a\"}, {\"q\": [[[]]]},\n {\"q\": {\"b\": \"\\\"]\"}}]",
        table,
        "q\ta\n1\t\"x\ty\"\n2\té\n",
    ];
    let compressed = [
        packed(lines.as_bytes()),
        zstd::stream::encode_all(lines.as_bytes(), 1).ok(),
        zstd::stream::encode_all(table.as_bytes(), 1).ok(),
    ];
    let plain = plain.into_iter().map(|text| text.as_bytes().to_vec());
    plain.chain(compressed.into_iter().flatten()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let file = DatasetFile::write(input)?;
    let mut verdict = Verdict::Refused;
    for format in FORMATS {
        let spec = file.dataset(format)?;
        let rows = rows_of(&spec);
        if let Ok(rows) = &rows {
            check_rows(rows)?;
            let is_row = rows.iter().any(|row| row.body.is_ok());
            verdict = verdict.or(if is_row { Verdict::Accepted } else { Verdict::Refused });
            check_shuffled(spec, rows).map_err(|wrong| format!("{format:?}: {wrong}"))?;
        }
    }
    Ok(verdict)
}

/// A shuffled dataset has the same rows in another order.
fn check_shuffled(spec: DatasetSpec, rows: &[Row]) -> Result<(), String> {
    let mut shuffled = rows_of(&DatasetSpec { shuffle: true, ..spec })?;
    shuffled.sort_by_key(|row| row.number);
    // The position in the run differs.
    let is_same =
        |(one, other): (&Row, &Row)| Row { index: 0, ..one.clone() } == Row { index: 0, ..other.clone() };
    match shuffled.len() == rows.len() && rows.iter().zip(&shuffled).all(is_same) {
        true => Ok(()),
        false => Err(format!("{rows:?}, and shuffled {shuffled:?}")),
    }
}
