//! Accepted and rejected images.

use super::*;
use crate::media::decode_budget::DecodeBudget;
use crate::media::format::Format;
use crate::media::image_probe::examine;
use crate::media::sniff::sniff;
use proptest::prelude::*;

const CODECS: [(ImageFormat, &str); 6] = [
    (ImageFormat::Png, "png"),
    (ImageFormat::Jpeg, "jpg"),
    (ImageFormat::Gif, "gif"),
    (ImageFormat::WebP, "webp"),
    (ImageFormat::Bmp, "bmp"),
    (ImageFormat::Tiff, "tiff"),
];

/// Returns a PNG that claims this size but contains almost no pixels.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let chunk = |name: &[u8; 4], content: &[u8]| {
        let mut crc = !0_u32;
        for byte in name.iter().chain(content) {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
        let length = u32::try_from(content.len()).expect("short");
        [&length.to_be_bytes(), &name[..], content, &(!crc).to_be_bytes()].concat()
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"IDAT", b"\x78\x9c\x03\0"),
        chunk(b"IEND", b""),
    ]
    .concat()
}

#[test]
fn whole_images_are_taken_and_those_that_end_early_are_not() {
    let fixture = MediaFixture::plain();
    for (codec, extension) in CODECS {
        let bytes = encoded(37, 23, codec);
        let name = format!("whole.{extension}");
        fixture.write(&name, &bytes);
        let sample = fixture.settle(user(json!([image_part(&name)]))).expect("settled");
        let record = &sample["_media_meta"]["images"][0];
        assert_eq!((&record["width"], &record["height"]), (&json!(37), &json!(23)), "{extension}");
        let last = bytes.len() - 1;
        for (index, length) in
            [40, bytes.len() / 4, bytes.len() / 2, last - 20, last - 1, last].into_iter().enumerate()
        {
            let name = format!("cut{index}.{extension}");
            fixture.write(&name, &bytes[..length]);
            let kind = fixture.kind_of(MediaKind::Image, &name);
            // The header of a TIFF points past its pixels, and its reader reports that less clearly.
            let allowed = if extension == "tiff" {
                &["media_truncated", "media_unreadable"][..]
            } else {
                &["media_truncated"]
            };
            assert!(
                kind.is_err_and(|kind| allowed.contains(&kind)),
                "{extension} of {length} bytes: {kind:?}"
            );
        }
    }
}

#[test]
fn bombs_are_refused_by_their_headers() {
    let fixture = MediaFixture::plain();
    for (index, (width, height)) in
        [(50_000, 50_000), (67_108_865, 1), (u32::MAX >> 1, u32::MAX >> 1)].into_iter().enumerate()
    {
        let name = format!("bomb{index}.png");
        fixture.write(&name, bomb(width, height));
        assert_eq!(fixture.kind_of(MediaKind::Image, &name), Err("media_too_large"), "{width} x {height}");
    }
    assert_eq!(fixture.store.stats().images_decoded, 0);
    fixture.write("lies.png", bomb(100, 100));
    assert!(fixture.kind_of(MediaKind::Image, "lies.png").is_err());
    let small = MediaFixture::new(|options, _| options.image.most_pixels = 100);
    small.write("fits.png", png(10, 10));
    small.write("above.png", png(10, 11));
    assert_eq!(small.kind_of(MediaKind::Image, "fits.png"), Ok(()));
    assert_eq!(small.kind_of(MediaKind::Image, "above.png"), Err("media_too_large"));
}

#[test]
fn content_that_is_not_what_it_is_called() {
    let fixture = MediaFixture::plain();
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    for (name, bytes) in [
        ("a.png", encoded(4, 4, ImageFormat::Jpeg)),
        ("b", png(4, 4)),
        ("c.pdf", b"%PDF-1.7\n".to_vec()),
        ("d.png", lfs.to_vec()),
        ("e.txt", lfs.to_vec()),
        ("f.png", vec![0, 1, 2, 3]),
        ("g", vec![0, 1, 2, 3]),
        ("h.wav", b"RIFF\x04\0\0\0WAVE".to_vec()),
        ("i.avif", b"\0\0\0\x18ftypavif\0\0\0\0mif1avif".to_vec()),
        ("j.docx", b"PK\x03\x04".to_vec()),
        ("k.bin", vec![7; 10]),
        ("l.md", b"# text".to_vec()),
    ] {
        fixture.write(name, bytes);
    }
    let wrong = Err("media_type");
    for (kind, name, expected) in [
        (MediaKind::Image, "a.png", wrong),
        (MediaKind::Image, "b", Ok(())),
        (MediaKind::Image, "c.pdf", wrong),
        (MediaKind::File, "c.pdf", Ok(())),
        (MediaKind::Image, "d.png", wrong),
        (MediaKind::File, "e.txt", wrong),
        (MediaKind::File, "f.png", wrong),
        (MediaKind::Image, "g", wrong),
        (MediaKind::Audio, "g", Ok(())),
        (MediaKind::Audio, "h.wav", Ok(())),
        (MediaKind::Video, "h.wav", wrong),
        (MediaKind::Image, "i.avif", Ok(())),
        (MediaKind::Audio, "l.md", wrong),
        (MediaKind::Image, "data:image/png;base64,AAAA", wrong),
        (MediaKind::File, "data:text/plain,abc", Ok(())),
        (MediaKind::File, "data:,", Err("media_truncated")),
    ] {
        assert_eq!(fixture.kind_of(kind, name), expected, "{} {name}", kind.type_name());
    }
    let types: Vec<Value> = ["c.pdf", "j.docx", "k.bin", "l.md", "data:x/y;base64,AAAA"]
        .into_iter()
        .map(|url| {
            let part = json!({"type": "file_url", "file_url": {"url": url}});
            let sample = fixture.settle(user(json!([part]))).expect("settled");
            sample["_media_meta"]["files"][0]["media_type"].clone()
        })
        .collect();
    let office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    assert_eq!(types, ["application/pdf", office, "application/octet-stream", "text/markdown", "x/y"]);
    let error =
        fixture.settle(user(json!([text_part("see"), image_part("a.png")]))).expect_err("of another type");
    assert_eq!(error.message, "'a.png': it is named image/png, but its content is image/jpeg");
    assert_eq!(error.pointer.as_deref(), Some("/messages/0/content/1/image_url/url"));
}

#[test]
fn bytes_are_bounded_in_files_and_urls() {
    let image = png(20, 20);
    let length = image.len() as u64;
    for (most, expected) in [(length, Ok(())), (length - 1, Err("media_too_large"))] {
        let fixture = MediaFixture::new(|options, _| options.most_bytes = most);
        fixture.write("a.png", &image);
        assert_eq!(fixture.kind_of(MediaKind::Image, "a.png"), expected);
        assert_eq!(fixture.kind_of(MediaKind::Image, &data_url::encode("image/png", &image)), expected);
    }
    let fixture = MediaFixture::new(|options, _| options.most_bytes = 10);
    fixture.write("a.txt", "a".repeat(11));
    assert_eq!(fixture.kind_of(MediaKind::File, "a.txt"), Err("media_too_large"));
    assert_eq!(fixture.kind_of(MediaKind::File, "data:,12345678901"), Err("media_too_large"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn damaged_images_are_reported_and_nothing_more(
        codec in 0..CODECS.len(),
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let (codec, _) = CODECS[codec];
        let mut bytes = encoded(19, 11, codec);
        for (place, value) in places {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        let format = sniff(&bytes);
        if format != Format::Unknown {
            let _ = examine(&bytes, format, 1 << 20, &DecodeBudget::new(1 << 24));
        }
    }
}
