//! Embedding and resizing.

use super::*;
use gage_core::Message;
use image::GenericImageView as _;
use std::path::PathBuf;

fn request(urls: &[&str]) -> Vec<Message> {
    let parts: Vec<Value> = urls.iter().map(|url| image_part(url)).collect();
    vec![Message::from_value(json!({"role": "user", "content": parts})).expect("a message")]
}

fn urls(messages: &[Message]) -> Vec<&str> {
    let parts = messages.iter().flat_map(|message| &message.content);
    parts
        .map(|part| match part {
            ContentPart::Media { url, .. } => url.as_str(),
            ContentPart::Text { .. } => "",
        })
        .collect()
}

/// Returns a JPEG that its EXIF block rotates by a quarter turn.
fn turned_jpeg(width: u32, height: u32) -> Vec<u8> {
    let bytes = encoded(width, height, ImageFormat::Jpeg);
    let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    [&bytes[..2], exif, &bytes[2..]].concat()
}

fn caching() -> MediaFixture {
    MediaFixture::new(|options, base| {
        options.image.factor = Some(8);
        options.cache_folder = Some(base.join("cache"));
    })
}

/// Returns the one file of the cache.
fn cached_file(fixture: &MediaFixture) -> PathBuf {
    let mut folder = fixture.folder.path().join("cache/media");
    loop {
        let mut entries = std::fs::read_dir(&folder).expect("a folder");
        let entry = entries.next().expect("an entry").expect("read");
        assert!(entries.next().is_none());
        if entry.path().is_file() {
            return entry.path();
        }
        folder = entry.path();
    }
}

#[test]
fn local_files_become_data_urls_and_remote_ones_stay() {
    let fixture = MediaFixture::plain();
    let image = png(9, 9);
    fixture.write("a.png", &image);
    let plain = data_url::encode("image/png", &image);
    let odd = plain.replace("image/png;", "image/png;x=y;");
    let mut messages = request(&["data/a.png", "a.png", "https://host/a.png", &plain, &odd]);
    fixture.store.embed(&mut messages).expect("embedded");
    assert_eq!(urls(&messages), [&plain, &plain, "https://host/a.png", &plain, &plain]);
    let error = fixture.store.embed(&mut request(&["data/a.png", "none.png"])).expect_err("missing");
    assert_eq!(error.pointer.as_deref(), Some("/messages/0/content/1/image_url/url"));
}

#[test]
fn a_file_that_changed_is_noticed() {
    let fixture = MediaFixture::plain();
    fixture.write("a.png", png(9, 9));
    let sample = fixture.settle(user(json!([image_part("a.png")]))).expect("settled");
    fixture.write("a.png", png(9, 10));
    let error = fixture.store.embed(&mut request(&[url_of(&sample, 0, 0)])).expect_err("changed");
    assert_eq!(error.kind, MediaErrorKind::Unreadable);
    assert_eq!(error.message, "'data/a.png': the file changed while the run was going on");
}

#[test]
fn the_sample_itself_holds_embedded_media() {
    let fixture = MediaFixture::new(|options, _| options.embed_local_media = true);
    let image = png(9, 9);
    fixture.write("a.png", &image);
    let sample = fixture
        .settle(user(json!([image_part("a.png"), image_part("https://host/a.png")])))
        .expect("settled");
    let url = data_url::encode("image/png", &image);
    assert_eq!(url_of(&sample, 0, 0), url);
    assert_eq!(sample["inputs"]["multi_modal_data"]["image"], json!([url, "https://host/a.png"]));
    assert_eq!(sample["_media_meta"]["images"][0]["url"], "data/a.png");
    let mut inputs = user(json!([image_part("a.png")]));
    inputs["inputs"] = json!({"multi_modal_data": {"image": ["a.png"]}});
    let sample = fixture.settle(inputs).expect("settled");
    assert_eq!(sample["_media_meta"].get("unreferenced"), None);
}

#[test]
fn images_are_resized_in_a_format_like_their_own() {
    let fixture = MediaFixture::with_factor(8);
    let cases = [
        ("a.png", png(21, 36), "image/png", (24, 32)),
        ("b.jpg", encoded(21, 36, ImageFormat::Jpeg), "image/jpeg", (24, 32)),
        ("c.gif", encoded(21, 36, ImageFormat::Gif), "image/png", (24, 32)),
        ("d.webp", encoded(21, 36, ImageFormat::WebP), "image/png", (24, 32)),
        ("e.jpg", turned_jpeg(21, 40), "image/jpeg", (40, 24)),
        ("f.bmp", encoded(24, 32, ImageFormat::Bmp), "image/bmp", (24, 32)),
    ];
    for (name, bytes, media_type, size) in cases {
        fixture.write(name, bytes);
        let settled = fixture.settle(user(json!([image_part(name)]))).expect("settled");
        let mut messages = request(&[url_of(&settled, 0, 0)]);
        fixture.store.embed(&mut messages).expect("embedded");
        let url = urls(&messages)[0].to_owned();
        assert!(url.starts_with(&format!("data:{media_type};base64,")), "{name}");
        let image = image::load_from_memory(&content_of(&url)).expect("decoded");
        assert_eq!(image.dimensions(), size, "{name}");
        let resized = settled["_media_meta"]["images"][0].get("resized").cloned();
        let expected = (name != "f.bmp").then(|| json!({"width": size.0, "height": size.1}));
        assert_eq!(resized, expected, "{name}");
        // A resized image keeps its size.
        fixture.store.embed(&mut messages).expect("embedded again");
        assert_eq!(urls(&messages), [&url]);
    }
    assert_eq!(fixture.store.stats().images_resized, 5);
    fixture.write("g.avif", b"\0\0\0\x18ftypavif\0\0\0\0mif1avif");
    fixture.write("long.png", png(201, 1));
    assert_eq!(fixture.kind_of(MediaKind::Image, "g.avif"), Ok(()));
    assert_eq!(fixture.kind_of(MediaKind::Image, "long.png"), Err("media_too_large"));
    // A format that is not decoded is sent unchanged.
    let mut messages = request(&["g.avif"]);
    fixture.store.embed(&mut messages).expect("embedded");
    assert!(urls(&messages)[0].starts_with("data:image/avif;base64,"));
}

#[test]
fn a_turned_image_is_turned_as_it_is_resized() {
    let fixture = MediaFixture::new(|options, _| {
        options.image = ImageOptions { max_pixels: Some(100), factor: Some(1), ..ImageOptions::default() };
    });
    // The left half is black, the right half white; rotated clockwise, white is at the bottom.
    let halves = RgbImage::from_fn(40, 20, |x, _| if x < 20 { Rgb([0; 3]) } else { Rgb([255; 3]) });
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(halves).write_to(&mut bytes, ImageFormat::Jpeg).expect("encoded");
    let bytes = bytes.into_inner();
    let turned = [&turned_jpeg(8, 8)[..38], &bytes[2..]].concat();
    fixture.write("a.jpg", turned);
    let mut messages = request(&["a.jpg"]);
    fixture.store.embed(&mut messages).expect("embedded");
    let image = image::load_from_memory(&content_of(urls(&messages)[0])).expect("decoded").to_luma8();
    assert_eq!(image.dimensions(), (7, 14));
    assert!(image.get_pixel(3, 1).0[0] < 50 && image.get_pixel(3, 12).0[0] > 200);
}

#[test]
fn resized_images_are_kept_and_made_anew_when_damaged() {
    let fixture = caching();
    fixture.write("a.png", png(21, 36));
    let embed = || {
        let mut messages = request(&["a.png"]);
        fixture.store.embed(&mut messages).expect("embedded");
        urls(&messages)[0].to_owned()
    };
    let first = embed();
    let path = cached_file(&fixture);
    assert_eq!(std::fs::read(&path).expect("read"), content_of(&first));
    assert_eq!(path.extension().and_then(|extension| extension.to_str()), Some("png"));
    assert_eq!(embed(), first);
    let stats = fixture.store.stats();
    assert_eq!((stats.images_resized, stats.cache_hits, stats.cache_repairs), (1, 1, 0));
    let whole = std::fs::read(&path).expect("read");
    let damages = [b"no image".to_vec(), whole[..whole.len() - 5].to_vec(), png(8, 8), Vec::new()];
    for damage in damages {
        std::fs::write(&path, damage).expect("written");
        assert_eq!(embed(), first);
        assert_eq!(std::fs::read(&path).expect("read"), whole);
    }
    let stats = fixture.store.stats();
    assert_eq!((stats.images_resized, stats.cache_hits, stats.cache_repairs), (5, 1, 4));
    // A cache that can neither be read nor written costs time, and no image.
    std::fs::remove_file(&path).expect("removed");
    std::fs::create_dir(&path).expect("a folder in its place");
    assert_eq!(embed(), first);
}

#[cfg(unix)]
#[test]
fn the_cache_is_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("media")).expect("made");
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.path().join("media"), mode(0o755)).expect("opened up");
    let options =
        MediaOptions { cache_folder: Some(folder.path().into()), ..MediaOptions::new(folder.path(), "") };
    MediaStore::new(options).expect("opened");
    let metadata = std::fs::metadata(folder.path().join("media")).expect("there");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
}
