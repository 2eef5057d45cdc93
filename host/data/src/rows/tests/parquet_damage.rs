//! Parquet that is truncated, damaged, empty or encrypted.

use super::parquet::{column, file};
use super::*;
use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use proptest::prelude::*;

const SCHEMA: &str = "message r { optional int32 n; optional group l (LIST) { repeated group list { optional binary element (UTF8); } } }";

fn content(compression: Compression) -> Vec<u8> {
    let texts = (0..20).map(|number| ByteArray::from(format!("text {}", number % 3).into_bytes())).collect();
    file(
        SCHEMA,
        compression,
        &[vec![
            column::<Int32Type>((0..10).collect(), &[1; 10], &[]),
            column::<ByteArrayType>(texts, &[3; 20], &[0, 1].repeat(10)),
        ]],
    )
}

#[test]
fn no_rows_are_an_error_and_so_are_a_cut_and_encryption() {
    assert!(
        Data::one(
            FileFormat::Parquet,
            file("message r { required int32 n; }", Compression::UNCOMPRESSED, &[])
        )
        .failure()
        .1
        .contains("has no rows")
    );
    let whole = content(Compression::UNCOMPRESSED);
    for cut in [8, 20, whole.len() / 2, whole.len() - 1] {
        let (_, error) = Data::one(FileFormat::Parquet, &whole[..cut]).failure();
        assert!(error.contains("does not end as Parquet does") && error.contains("rows"), "{error}");
    }
    let mut footer = whole.clone();
    let length = footer.len() - 8;
    footer[length] = 0xff;
    footer[length + 1] = 0xff;
    assert!(Data::one(FileFormat::Parquet, footer).failure().1.contains("damaged after row 0"));
    let mut encrypted = whole.clone();
    let end = encrypted.len() - 4;
    encrypted[end..].copy_from_slice(b"PARE");
    assert!(Data::one(FileFormat::Parquet, &encrypted).failure().1.contains("encrypted"));
    encrypted[..4].copy_from_slice(b"PARE");
    assert!(Data::one(FileFormat::Parquet, encrypted).failure().1.contains("encrypted"));
    assert!(Data::one(FileFormat::Parquet, "{\"a\":1}\n").failure().1.contains("is not Parquet"));
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let columns = vec![column::<Int32Type>(vec![1], &[], &[]), column::<Int32Type>(vec![2], &[], &[])];
    let content =
        file("message r { required int32 a; required int32 a; }", Compression::UNCOMPRESSED, &[columns]);
    let (_, error) = Data::one(FileFormat::Parquet, content).failure();
    assert!(error.contains("two columns named 'a'"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damage_gives_rows_or_an_error_but_never_stops_the_program(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_packed: bool,
    ) {
        let mut content = content(if is_packed { Compression::SNAPPY } else { Compression::UNCOMPRESSED });
        for (place, byte) in places {
            let place = place.index(content.len());
            content[place] = byte;
        }
        let data = Data::one(FileFormat::Parquet, content);
        if let Ok(rows) = open(&data.source, Some(1_000)) {
            rows.for_each(drop);
        }
    }
}
