//! Parquet, written by its own crate.

use super::*;
use crate::RowPosition;
use ::parquet::basic::Compression;
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Writes one column of a row group: values, definition levels, repetition levels.
pub(super) type Write = Box<dyn Fn(&mut ::parquet::file::writer::SerializedColumnWriter<'_>)>;

pub(super) fn column<T: DataType>(values: Vec<T::T>, definitions: &[i16], repetitions: &[i16]) -> Write
where
    T::T: Clone + 'static,
{
    let (definitions, repetitions) = (definitions.to_vec(), repetitions.to_vec());
    Box::new(move |writer| {
        let definitions = (!definitions.is_empty()).then_some(definitions.as_slice());
        let repetitions = (!repetitions.is_empty()).then_some(repetitions.as_slice());
        writer.typed::<T>().write_batch(&values, definitions, repetitions).expect("written");
    })
}

pub(super) fn file(schema: &str, compression: Compression, groups: &[Vec<Write>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).expect("a writer");
    for columns in groups {
        let mut group = writer.next_row_group().expect("a row group");
        for write in columns {
            let mut column = group.next_column().expect("a column").expect("a column");
            write(&mut column);
            column.close().expect("closed");
        }
        group.close().expect("closed");
    }
    writer.close().expect("closed");
    bytes
}

fn byte_arrays<S: AsRef<[u8]>>(texts: &[S]) -> Vec<ByteArray> {
    texts.iter().map(|text| ByteArray::from(text.as_ref().to_vec())).collect()
}

/// Returns a file with columns of texts.
pub(super) fn texts(columns: &[(&str, &[String])]) -> Vec<u8> {
    let fields: String = columns.iter().map(|(name, _)| format!("required binary {name} (UTF8);")).collect();
    let write = |texts: &[String]| column::<ByteArrayType>(byte_arrays(texts), &[], &[]);
    let group = columns.iter().map(|(_, texts)| write(texts)).collect();
    file(&format!("message rows {{ {fields} }}"), Compression::UNCOMPRESSED, &[group])
}

fn bodies(schema: &str, columns: Vec<Write>) -> Vec<Result<String, String>> {
    Data::one(FileFormat::Parquet, file(schema, Compression::SNAPPY, &[columns])).bodies()
}

#[test]
fn scalars_keep_what_they_mean() {
    let schema = "message rows {
        required boolean b; required int32 i; required int32 u (INTEGER(32,false)); required int64 l; required float f; required double d;
        required int32 p (DECIMAL(9,2)); required fixed_len_byte_array(16) q (DECIMAL(38,10));
        required int32 day (DATE); required int64 ms (TIMESTAMP(MILLIS,true)); required int64 ns (TIMESTAMP(NANOS,false));
        required int96 old; required int32 clock (TIME(MILLIS,false)); required binary t (UTF8); required binary e (ENUM);
        required fixed_len_byte_array(16) uuid (UUID); required binary raw; }";
    let fixed = |bytes: Vec<u8>| vec![FixedLenByteArray::from(bytes)];
    let mut old = Int96::new();
    old.set_data(1, 0, 2_440_588);
    let found = bodies(
        schema,
        vec![
            column::<BoolType>(vec![true], &[], &[]),
            column::<Int32Type>(vec![-5], &[], &[]),
            column::<Int32Type>(vec![-1], &[], &[]),
            column::<Int64Type>(vec![i64::MAX], &[], &[]),
            column::<FloatType>(vec![0.1], &[], &[]),
            column::<DoubleType>(vec![1e300], &[], &[]),
            column::<Int32Type>(vec![-1_234], &[], &[]),
            column::<FixedLenByteArrayType>(fixed((-1_i128).to_be_bytes().to_vec()), &[], &[]),
            column::<Int32Type>(vec![19_782], &[], &[]),
            column::<Int64Type>(vec![1], &[], &[]),
            column::<Int64Type>(vec![1_700_000_000_123_456_789], &[], &[]),
            column::<Int96Type>(vec![old], &[], &[]),
            column::<Int32Type>(vec![3_600_000], &[], &[]),
            column::<ByteArrayType>(byte_arrays(&["ä\"\n"]), &[], &[]),
            column::<ByteArrayType>(byte_arrays(&["X"]), &[], &[]),
            column::<FixedLenByteArrayType>(fixed(vec![0xab; 16]), &[], &[]),
            column::<ByteArrayType>(byte_arrays(&["\0"]), &[], &[]),
        ],
    );
    let expected = concat!(
        r#"{"b":true,"i":-5,"u":4294967295,"l":9223372036854775807,"f":0.1,"d":1e+300,"#,
        r#""p":"-12.34","q":"-0.0000000001","day":"2024-02-29","ms":"1970-01-01T00:00:00.001Z","#,
        r#""ns":"2023-11-14T22:13:20.123456789","old":"1970-01-01T00:00:00.000000001","clock":"01:00:00","#,
        r#""t":"ä\"\n","e":"X","uuid":"abababab-abab-abab-abab-abababababab","#,
        r#""raw":"data:application/octet-stream;base64,AA=="}"#
    );
    let found: serde_json::Value = serde_json::from_str(found[0].as_ref().expect("sound")).expect("JSON");
    assert_eq!(found, serde_json::from_str::<serde_json::Value>(expected).expect("JSON"));
}

#[test]
fn values_outside_json_break_only_their_row() {
    let schema = "message rows { required int32 id; optional group g { required double x; required binary t (UTF8); } }";
    let found = bodies(
        schema,
        vec![
            column::<Int32Type>(vec![0, 1, 2, 3], &[], &[]),
            column::<DoubleType>(vec![0.5, f64::NAN, 1.5], &[1, 1, 0, 1], &[]),
            column::<ByteArrayType>(byte_arrays(&[&b"a"[..], b"b", b"\xff"]), &[1, 1, 0, 1], &[]),
        ],
    );
    let expected = [
        Ok(r#"{"id":0,"g":{"x":0.5,"t":"a"}}"#.to_owned()),
        Err("row 2 of rows: column 'g.x': the value is NaN, which JSON does not have".to_owned()),
        Ok(r#"{"id":2,"g":null}"#.to_owned()),
        Err("row 4 of rows: column 'g.t': the text is not UTF-8 after byte 0".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn oversized_pages_are_refused_before_decompression() {
    let mut bytes = texts(&[("t", &["x".to_owned()])]);
    // Header of the only page: its kind, and its size of 1 + 4 bytes in five groups of seven bits instead of one.
    let header = [0x15, 0x00, 0x15];
    let place = bytes.windows(3).position(|window| window == header).expect("a page");
    let size = bytes[place + 3..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    assert!(size < 5, "there is room for a larger number");
    bytes[place + 3..place + 8].copy_from_slice(&[0x80, 0x80, 0x80, 0x80, 0x08]);
    let (good, error) = Data::one(FileFormat::Parquet, bytes).failure();
    assert_eq!(good, 0);
    assert!(error.contains("column 't' has a page of 1024 MiB, unpacked, from row 1 on"), "{error}");
}

#[test]
fn images_are_data_urls() {
    let png = b"\x89PNG\r\n\x1a\n";
    let schema =
        "message rows { optional group image { optional binary bytes; optional binary path (UTF8); } }";
    let found = bodies(
        schema,
        vec![
            column::<ByteArrayType>(byte_arrays(&[png]), &[2, 1, 0], &[]),
            column::<ByteArrayType>(byte_arrays(&["a.png", "b.png"]), &[2, 2, 0], &[]),
        ],
    );
    let expected = [
        Ok(r#"{"image":{"bytes":"data:image/png;base64,iVBORw0KGgo=","path":"a.png"}}"#.to_owned()),
        Ok(r#"{"image":{"bytes":null,"path":"b.png"}}"#.to_owned()),
        Ok(r#"{"image":null}"#.to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lists_of_lists_and_of_structs() {
    let schema = "message rows {
        optional group l (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional int32 element; } } } }
        required group s (LIST) { repeated group list { required group element { required int32 a; optional binary b (UTF8); } } } }";
    // [[1, null], [], null], null, [] and [[2]]; [{1, x}, {2, null}], [], [{3, y}] and [{4, z}].
    let found = bodies(
        schema,
        vec![
            column::<Int32Type>(vec![1, 2], &[5, 4, 3, 2, 0, 1, 5], &[0, 2, 1, 1, 0, 0, 0]),
            column::<Int32Type>(vec![1, 2, 3, 4], &[1, 1, 0, 1, 1], &[0, 1, 0, 0, 0]),
            column::<ByteArrayType>(byte_arrays(&["x", "y", "z"]), &[2, 1, 0, 2, 2], &[0, 1, 0, 0, 0]),
        ],
    );
    let expected = [
        r#"{"l":[[1,null],[],null],"s":[{"a":1,"b":"x"},{"a":2,"b":null}]}"#,
        r#"{"l":null,"s":[]}"#,
        r#"{"l":[],"s":[{"a":3,"b":"y"}]}"#,
        r#"{"l":[[2]],"s":[{"a":4,"b":"z"}]}"#,
    ];
    assert_eq!(found, expected.map(|body| Ok(body.to_owned())));
}

#[test]
fn lists_as_old_writers_had_them() {
    for (schema, expected) in [
        ("message r { repeated int32 a; }", r#"{"a":[1,2]}"#),
        ("message r { required group a (LIST) { repeated int32 element; } }", r#"{"a":[1,2]}"#),
        (
            "message r { required group a (LIST) { repeated group array { required int32 x; } } }",
            r#"{"a":[{"x":1},{"x":2}]}"#,
        ),
        (
            "message r { required group a (LIST) { repeated group a_tuple { required int32 x; } } }",
            r#"{"a":[{"x":1},{"x":2}]}"#,
        ),
        (
            "message r { required group a (LIST) { repeated group bag { required int32 x; } } }",
            r#"{"a":[1,2]}"#,
        ),
        ("message r { repeated group a { required int32 x; } }", r#"{"a":[{"x":1},{"x":2}]}"#),
        (
            "message r { required group a (MAP) { repeated group key_value { required int32 key; } } }",
            r#"{"a":[1,2]}"#,
        ),
    ] {
        let found = bodies(schema, vec![column::<Int32Type>(vec![1, 2], &[1, 1], &[0, 1])]);
        assert_eq!(found, [Ok(expected.to_owned())], "{schema}");
    }
}

#[test]
fn maps_are_objects() {
    let schema = "message rows { optional group m (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } } }";
    let found = bodies(
        schema,
        vec![
            column::<ByteArrayType>(
                byte_arrays(&["a", "b", "c", "c"]),
                &[2, 2, 1, 0, 2, 2],
                &[0, 1, 0, 0, 0, 1],
            ),
            column::<Int32Type>(vec![1, 2, 3], &[3, 2, 1, 0, 3, 3], &[0, 1, 0, 0, 0, 1]),
        ],
    );
    assert_eq!(
        found[..3],
        [r#"{"m":{"a":1,"b":null}}"#, r#"{"m":{}}"#, r#"{"m":null}"#].map(|body| Ok(body.to_owned()))
    );
    assert!(found[3].as_ref().is_err_and(|message| message.contains("has the key \"c\" twice")));
    let schema = "message rows { required group m (MAP) { repeated group key_value { required int64 key; required boolean value; } } }";
    let found = bodies(
        schema,
        vec![
            column::<Int64Type>(vec![7, 8], &[1, 1], &[0, 1]),
            column::<BoolType>(vec![true, false], &[1, 1], &[0, 1]),
        ],
    );
    assert_eq!(found, [Ok(r#"{"m":{"7":true,"8":false}}"#.to_owned())]);
}

#[test]
fn row_groups_are_read_one_after_another_in_every_compression() {
    use ::parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        let group = |from: i64, to: i64| vec![column::<Int64Type>((from..to).collect(), &[], &[])];
        let content = file(
            "message r { required int64 n; }",
            compression,
            &[group(0, 3_000), group(3_000, 3_001), group(3_001, 5_000)],
        );
        let mut data = Data::one(FileFormat::Parquet, content);
        assert_eq!(data.open().expect("opened").total(), Some(5_000));
        let rows = data.rows();
        assert_eq!(rows.len(), 5_000);
        assert!(rows.iter().all(|row| row.body == Ok(format!("{{\"n\":{}}}", row.number))
            && row.place == RowPosition::Row(row.number + 1)));
        data.source.filter.include = vec![("n".to_owned(), vec![serde_json::json!(4_999.0)])];
        assert_eq!(data.open().expect("opened").total(), None);
        assert_eq!(numbers(&data), [4_999]);
    }
}
