//! Compressed text: truncation or damage is never mistaken for the end.

use super::*;
use crate::RowPosition;
use proptest::prelude::*;

/// Returns rows that compress poorly, so that a cut is within the data.
fn rows(count: u64) -> String {
    let noise = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_pow(3);
    (0..count).map(|number| format!("{{\"n\":{number},\"x\":\"{:x}\"}}\n", noise(number))).collect()
}

#[test]
fn members_and_frames_that_follow_one_another_are_one_text() {
    let (one, two) = (rows(30), rows(20));
    let expected = Data::one(FileFormat::Jsonl, format!("{one}{two}")).bodies();
    for pack in [gzip, zstd] {
        let content = [pack(one.as_bytes()), pack(b""), pack(two.as_bytes())].concat();
        assert_eq!(Data::one(FileFormat::Jsonl, content).bodies(), expected);
    }
    let skippable = [&b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(one.as_bytes())].concat();
    assert_eq!(Data::one(FileFormat::Jsonl, skippable).rows().len(), 30);
}

#[test]
fn a_cut_anywhere_is_an_error_with_the_number_of_good_rows() {
    for pack in [gzip, zstd] {
        let first = pack(rows(40).as_bytes());
        let whole = [first.clone(), pack(rows(40).as_bytes())].concat();
        for cut in 4..whole.len() {
            let data = Data::one(FileFormat::Jsonl, &whole[..cut]);
            if cut == first.len() {
                // A file that ends here cannot be distinguished from one that was cut here.
                assert_eq!(data.rows().len(), 40);
                continue;
            }
            let (good, error) = data.failure();
            let expected = format!("is damaged after row {good}: ");
            assert!(error.contains(&expected), "{cut}: {error}");
            assert!(cut < first.len() || good >= 40, "{cut}: {good}");
        }
    }
}

#[test]
fn damage_is_an_error_and_so_is_what_follows_a_stream() {
    for pack in [gzip, zstd] {
        let whole = pack(rows(20_000).as_bytes());
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        for byte in &mut damaged[middle..middle + 8] {
            *byte ^= 0x55;
        }
        let data = Data::one(FileFormat::Jsonl, damaged);
        let (good, error) = data.failure();
        assert!(good > 0 && error.contains(&format!("is damaged after row {good}: ")), "{error}");
        let trailing = [whole, b"garbage".to_vec()].concat();
        let (good, error) = Data::one(FileFormat::Jsonl, trailing).failure();
        assert_eq!(good, 20_000);
        assert!(error.contains("is damaged after row 20000"), "{error}");
    }
    // Even few bytes are not mistaken for a truncated member.
    for trailing in ["\n", "\0\0", "garbage and more of it"] {
        let content = [gzip(rows(3).as_bytes()), trailing.as_bytes().to_vec()].concat();
        let (good, error) = Data::one(FileFormat::Jsonl, content).failure();
        let expected = "is damaged after row 3: the gzip stream ended, and other bytes follow";
        assert!(good == 3 && error.contains(expected), "{trailing:?}: {error}");
    }
}

#[test]
fn the_checksum_of_gzip_is_checked() {
    let mut content = gzip(rows(5).as_bytes());
    let sum = content.len() - 8;
    content[sum] ^= 1;
    let (good, error) = Data::one(FileFormat::Jsonl, content).failure();
    assert_eq!(good, 5);
    assert!(error.contains("damaged after row 5"), "{error}");
}

#[test]
fn compressed_content_must_be_text() {
    let tar = [&[b'x'; 257][..], b"ustar\x0000", &[0; 300]].concat();
    for (content, expected) in [
        (gzip(&tar), "a tar archive; unpack it"),
        (gzip(&gzip(b"{}\n")), "compressed twice"),
        (zstd(b"PAR1\x15\x04"), "decompress it and use loader: parquet"),
        (b"PAR1\x15\x04\x00".to_vec(), "use loader: parquet"),
        (b"PK\x03\x04\x14\x00\x00".to_vec(), "a zip archive"),
    ] {
        let (_, error) = Data::one(FileFormat::Jsonl, content).failure();
        assert!(error.contains(expected) && error.contains("rows"), "{error}");
    }
    let (_, error) = Data::one(FileFormat::Parquet, gzip(b"{}\n")).failure();
    assert!(error.contains("use loader: jsonl"), "{error}");
}

#[test]
fn every_text_format_may_be_compressed() {
    for (format, content) in [
        (FileFormat::Csv, "a\n1\n2\n"),
        (FileFormat::Tsv, "a\n1\n2\n"),
        (FileFormat::Json, "[{\"a\":\"1\"},{\"a\":\"2\"}]"),
    ] {
        let expected = [Ok("{\"a\":\"1\"}".to_owned()), Ok("{\"a\":\"2\"}".to_owned())];
        assert_eq!(Data::one(format, gzip(content.as_bytes())).bodies(), expected);
        assert_eq!(Data::one(format, zstd(content.as_bytes())).bodies(), expected);
        let cut = gzip(content.as_bytes());
        let (_, error) = Data::one(format, &cut[..cut.len() - 3]).failure();
        assert!(error.contains("gzip stream is cut off"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lines_come_out_as_they_went_in(
        values in proptest::collection::vec(any::<String>(), 1..40),
        blanks in proptest::collection::vec(0_usize..3, 40),
        cut in 0_usize..4_000,
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (value, blank) in values.iter().zip(&blanks) {
            text.push_str(&"\n".repeat(*blank));
            let row = serde_json::json!({ "v": value }).to_string();
            text.push_str(&row);
            text.push('\n');
            let line = text.matches('\n').count() as u64;
            expected.push((RowPosition::Line(line), Ok(row)));
        }
        let cut = cut.min(text.len());
        let (one, two) = text.as_bytes().split_at(cut);
        for content in [
            text.clone().into_bytes(),
            gzip(text.as_bytes()),
            zstd(text.as_bytes()),
            [gzip(one), gzip(two)].concat(),
            [zstd(one), zstd(two)].concat(),
        ] {
            let rows = Data::one(FileFormat::Jsonl, content).rows();
            let rows: Vec<_> = rows.into_iter().map(|row| (row.place, row.body.map_err(|problem| problem.message))).collect();
            prop_assert_eq!(&rows, &expected);
        }
    }
}
