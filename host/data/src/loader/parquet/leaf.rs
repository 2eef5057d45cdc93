//! Logical types of a column's values.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::ColumnDescriptor;

/// Properties of a column that its values depend on.
#[derive(Clone)]
pub(crate) struct Leaf {
    /// Full name, with dots between the parts.
    pub name: String,
    pub most_definition: i16,
    pub most_repetition: i16,
    pub kind: LeafKind,
}

/// Representation of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LeafKind {
    /// Determined by its physical type: bytes are a `data:` URL.
    Plain,
    /// An unsigned integer.
    Unsigned,
    /// Digits, `scale` of them after the point.
    Decimal { scale: i32 },
    /// Days since 1970.
    Date,
    /// Time since midnight.
    Time { unit: TimeUnit, is_utc: bool },
    /// Time since the beginning of 1970.
    Timestamp { unit: TimeUnit, is_utc: bool },
    /// UTF-8.
    Text,
    /// 16 bytes of an identifier.
    Uuid,
    /// A two-byte float.
    Half,
    /// Months, days and milliseconds.
    Interval,
}

impl Leaf {
    pub(crate) fn of(column: &ColumnDescriptor) -> Leaf {
        Leaf {
            name: column.path().parts().join("."),
            most_definition: column.max_def_level(),
            most_repetition: column.max_rep_level(),
            kind: kind(column),
        }
    }
}

fn kind(column: &ColumnDescriptor) -> LeafKind {
    // Scale is a property of primitive types, and all columns have one.
    let decimal = LeafKind::Decimal { scale: column.type_scale() };
    if let Some(logical) = column.logical_type_ref() {
        return match logical {
            LogicalType::String | LogicalType::Enum | LogicalType::Json => LeafKind::Text,
            LogicalType::Decimal(kind) => LeafKind::Decimal { scale: kind.scale },
            LogicalType::Date => LeafKind::Date,
            LogicalType::Time(time) => LeafKind::Time { unit: time.unit, is_utc: time.is_adjusted_to_u_t_c },
            LogicalType::Timestamp(time) => {
                LeafKind::Timestamp { unit: time.unit, is_utc: time.is_adjusted_to_u_t_c }
            }
            LogicalType::Integer(kind) if !kind.is_signed => LeafKind::Unsigned,
            LogicalType::Uuid => LeafKind::Uuid,
            LogicalType::Float16 => LeafKind::Half,
            _ => LeafKind::Plain,
        };
    }
    match column.converted_type() {
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => LeafKind::Text,
        ConvertedType::DECIMAL => decimal,
        ConvertedType::DATE => LeafKind::Date,
        ConvertedType::TIME_MILLIS => LeafKind::Time { unit: TimeUnit::MILLIS, is_utc: true },
        ConvertedType::TIME_MICROS => LeafKind::Time { unit: TimeUnit::MICROS, is_utc: true },
        ConvertedType::TIMESTAMP_MILLIS => LeafKind::Timestamp { unit: TimeUnit::MILLIS, is_utc: true },
        ConvertedType::TIMESTAMP_MICROS => LeafKind::Timestamp { unit: TimeUnit::MICROS, is_utc: true },
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
            LeafKind::Unsigned
        }
        ConvertedType::INTERVAL => LeafKind::Interval,
        // Timestamps of old writers, which do not record whether they are UTC.
        _ if column.physical_type() == Physical::INT96 => {
            LeafKind::Timestamp { unit: TimeUnit::NANOS, is_utc: false }
        }
        _ => LeafKind::Plain,
    }
}
