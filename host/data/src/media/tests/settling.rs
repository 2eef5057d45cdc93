//! Lookup of media, and their form in a Sample.

use super::*;

#[test]
fn local_paths_get_the_root_and_others_stay() {
    let fixture = MediaFixture::plain();
    fixture.write("a.png", png(4, 3));
    fixture.write("b.png", png(6, 6));
    let absolute = |name: &str| fixture.folder.path().join("content").join(name).display().to_string();
    let (absolute, other) = (absolute("a.png"), absolute("b.png"));
    let inline = data_url::encode("image/png", &png(5, 5));
    let remote = "https://host/x.png?y=1";
    let parts = ["a.png", "./a.png", "data/a.png", &absolute, &format!("file://{other}"), remote, &inline];
    let parts: Vec<Value> = parts.into_iter().map(image_part).collect();
    let sample = fixture.settle(user(json!(parts))).expect("settled");
    let urls: Vec<&str> = (0..7).map(|part| url_of(&sample, 0, part)).collect();
    assert_eq!(urls, ["data/a.png", "data/a.png", "data/a.png", "data/a.png", &other, remote, &inline]);
    assert_eq!(sample["inputs"]["multi_modal_data"], json!({"image": ["data/a.png", other, remote, inline]}));
    let digest = |bytes: &[u8]| Digest::of_bytes(bytes).to_string();
    let (local, named, embedded) = (png(4, 3), png(6, 6), png(5, 5));
    assert_eq!(
        sample["_media_meta"]["images"],
        json!([
            {"index": 0, "url": "data/a.png", "digest": digest(&local), "media_type": "image/png",
             "bytes": local.len(), "width": 4, "height": 3, "references": 4},
            {"index": 1, "url": other, "digest": digest(&named), "media_type": "image/png",
             "bytes": named.len(), "width": 6, "height": 6, "references": 1},
            {"index": 2, "url": remote, "references": 1},
            {"index": 3, "url": digest(&embedded), "digest": digest(&embedded), "media_type": "image/png",
             "bytes": embedded.len(), "width": 5, "height": 5, "references": 1},
        ])
    );
    let again = fixture.settle(sample.clone()).expect("settled again");
    assert_eq!(again, sample);
}

#[test]
fn files_that_may_not_be_read() {
    let fixture = MediaFixture::plain();
    std::fs::write(fixture.folder.path().join("secret.png"), png(2, 2)).expect("written");
    std::fs::create_dir(fixture.folder.path().join("content/folder.png")).expect("made");
    for (url, expected) in [
        ("../secret.png", "media_outside_root"),
        ("../../../../../../../../etc/passwd", "media_outside_root"),
        ("file:///etc/passwd", "media_outside_root"),
        ("file:///etc/%2e%2e/etc/passwd", "media_outside_root"),
        ("/dev/zero", "media_outside_root"),
        ("none.png", "media_missing"),
        ("folder.png", "media_unreadable"),
        ("C:\\a.png", "media_url"),
        ("gopher://host/a.png", "media_url"),
        ("", "media_url"),
    ] {
        assert_eq!(fixture.kind_of(MediaKind::Image, url), Err(expected), "{url}");
    }
    assert_eq!(fixture.store.stats().files_read, 0);
    let further = MediaFixture::new(|options, base| {
        std::fs::create_dir(base.join("further")).expect("made");
        options.allowed_roots = vec![base.join("further")];
    });
    std::fs::write(further.folder.path().join("further/a.png"), png(2, 2)).expect("written");
    assert_eq!(further.kind_of(MediaKind::Image, "../further/a.png"), Ok(()));
}

#[test]
fn examples_come_before_the_question_and_behind_the_system() {
    let fixture = MediaFixture::plain();
    for (name, width) in [("a.png", 1), ("b.png", 2), ("c.png", 3), ("d.png", 4)] {
        fixture.write(name, png(width, 1));
    }
    let example = json!({
        "messages": [{"role": "user", "content": [image_part("b.png")]}],
        "references": [{"answer": [image_part("c.png")]}], "label": "c.png",
    });
    let sample = json!({
        "schema_version": "v1", "id": "s", "references": [{"answer": [image_part("secret-answer.png")]}],
        "messages": [
            {"role": "system", "content": [image_part("a.png")]},
            {"role": "user", "content": [text_part("?"), image_part("d.png")]},
        ],
        "few_shot_examples": [example],
    });
    let settled = fixture.settle(sample.clone()).expect("settled");
    let images = json!(["data/a.png", "data/b.png", "data/c.png", "data/d.png"]);
    assert_eq!(settled["inputs"]["multi_modal_data"]["image"], images);
    assert_eq!(settled["few_shot_examples"][0]["label"], "data/c.png");
    for (name, pointer) in [
        ("d.png", "/messages/1/content/1/image_url/url"),
        ("c.png", "/few_shot_examples/0/references/0/answer/0/image_url/url"),
        ("b.png", "/few_shot_examples/0/messages/0/content/0/image_url/url"),
        ("a.png", "/messages/0/content/0/image_url/url"),
    ] {
        std::fs::remove_file(fixture.folder.path().join("content").join(name)).expect("removed");
        let error = fixture.settle(sample.clone()).expect_err("missing");
        assert_eq!((error.kind.name(), error.pointer.as_deref()), ("media_missing", Some(pointer)));
    }
}

#[test]
fn text_stays_as_it_is() {
    let fixture = MediaFixture::plain();
    let sample = user(json!([text_part("only text")]));
    assert_eq!(fixture.settle(sample.clone()).expect("settled"), sample);
}

#[test]
fn an_image_that_threads_share_is_decoded_once() {
    let fixture = MediaFixture::plain();
    fixture.write("a.png", png(300, 200));
    fixture.write("broken.png", &png(300, 200)[..500]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(fixture.kind_of(MediaKind::Image, "a.png"), Ok(()));
                    assert_eq!(fixture.kind_of(MediaKind::Image, "broken.png"), Err("media_truncated"));
                }
            });
        }
    });
    let stats = fixture.store.stats();
    assert_eq!((stats.images_decoded, stats.files_read), (1, 80));
}

#[test]
fn files_by_their_digest() {
    let fixture = MediaFixture::plain();
    let image = png(6, 6);
    fixture.write("a.png", &image);
    let digest = Digest::of_bytes(&image);
    // A digest names only media that the same Sample refers to otherwise, never another row's.
    let named = digest.to_string();
    let by_digest = fixture.settle(user(json!([image_part("a.png"), image_part(&named)]))).expect("settled");
    assert_eq!(url_of(&by_digest, 0, 1), "data/a.png");
    let alone = fixture.settle(user(json!([image_part(&named)]))).expect_err("refused");
    assert_eq!(alone.kind, MediaErrorKind::Url);
}

#[test]
fn options_that_cannot_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("written");
    let refuses = |change: &dyn Fn(&mut MediaOptions)| {
        let mut options = MediaOptions::new(folder.path(), "");
        change(&mut options);
        MediaStore::new(options).err().map(|error| error.kind)
    };
    let wrong = Some(MediaErrorKind::Options);
    assert_eq!(refuses(&|_| {}), None);
    assert_eq!(refuses(&|options| options.image.factor = Some(0)), wrong);
    assert_eq!(refuses(&|options| options.image.factor = Some(100_000)), wrong);
    assert_eq!(refuses(&|options| options.image.max_pixels = Some(783)), wrong);
    assert_eq!(refuses(&|options| options.image.min_pixels = Some(u64::MAX)), wrong);
    assert_eq!(refuses(&|options| options.content_root.clone_from(&file)), wrong);
    assert_eq!(refuses(&|options| options.allowed_roots.push(folder.path().join("none"))), wrong);
    assert_eq!(refuses(&|options| options.cache_folder = Some(file.clone())), wrong);
}
