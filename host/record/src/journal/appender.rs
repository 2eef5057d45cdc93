//! Makes records durable: appends a batch with few writes and one fsync, or leaves no trace of it.

use super::line::{self, ChecksumSeed};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};

/// Length of the encoded lines that are written together, in bytes. A larger buffer is freed after its batch.
const WRITE_BYTES: usize = 1 << 20;

/// The target of an [`Appender`], always written at its end.
pub(super) trait Store: Write {
    /// Makes the written data durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Truncates to the first `length` bytes, and continues from there.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A file with no other writer, so its position is always its end.
impl Store for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// Appends batches of lines.
#[derive(Debug)]
pub(super) struct Appender<S> {
    store: S,
    /// Number of bytes that are known to be good.
    length: u64,
    /// True if there may be more than the good bytes.
    is_torn: bool,
    buffer: Vec<u8>,
    seed: ChecksumSeed,
    /// Number of the next line; `None` if lines are not numbered.
    next: Option<u64>,
}

impl<S: Store> Appender<S> {
    /// Appends to a store that holds exactly `length` bytes, all of them good.
    pub(super) fn new(store: S, length: u64) -> Appender<S> {
        Appender { store, length, is_torn: false, buffer: Vec::new(), seed: ChecksumSeed::NONE, next: None }
    }

    /// Returns the store.
    pub(super) fn store(&self) -> &S {
        &self.store
    }

    /// Number of bytes that are known to be good.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Switches to appending records of a run, starting with this line number.
    pub(super) fn begin_records(&mut self, seed: ChecksumSeed, next: u64) {
        self.seed = seed;
        self.next = Some(next);
    }

    /// Appends all values and makes them durable, or appends none. Returns the number of values.
    pub(super) fn append<T: Serialize>(&mut self, values: impl IntoIterator<Item = T>) -> io::Result<u64> {
        let mut batch = Batch { bytes: 0, count: 0, next: self.next };
        let written = self.write_batch(values, &mut batch);
        self.buffer.clear();
        self.buffer.shrink_to(2 * WRITE_BYTES);
        match written {
            Ok(()) => {
                self.length += batch.bytes;
                self.next = batch.next;
            }
            // Nothing of a failed batch may stay: the next batch would follow a torn line.
            Err(_) if batch.bytes > 0 => self.is_torn = self.store.cut(self.length).is_err(),
            Err(_) => {}
        }
        written.map(|()| batch.count)
    }

    fn write_batch<T: Serialize>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        batch: &mut Batch,
    ) -> io::Result<()> {
        for value in values {
            line::encode(&value, batch.next, self.seed, &mut self.buffer)?;
            batch.next = batch.next.map(|number| number + 1);
            batch.count += 1;
            if self.buffer.len() >= WRITE_BYTES {
                self.write_buffer(batch)?;
            }
        }
        if batch.count == 0 {
            return Ok(());
        }
        self.write_buffer(batch)?;
        self.store.sync()
    }

    fn write_buffer(&mut self, batch: &mut Batch) -> io::Result<()> {
        if self.is_torn {
            self.store.cut(self.length)?;
            self.is_torn = false;
        }
        // Before the write, which may fail halfway.
        batch.bytes += self.buffer.len() as u64;
        self.store.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Progress of a batch that is being written.
struct Batch {
    bytes: u64,
    count: u64,
    /// Number of the next line; `None` if lines are not numbered.
    next: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with limited capacity.
    struct SmallDisk {
        bytes: Vec<u8>,
        room: usize,
        fails_to_sync: bool,
        fails_to_cut: bool,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.room - self.bytes.len());
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Store for SmallDisk {
        fn sync(&mut self) -> io::Result<()> {
            if self.fails_to_sync { Err(io::Error::other("sync")) } else { Ok(()) }
        }

        fn cut(&mut self, length: u64) -> io::Result<()> {
            if self.fails_to_cut {
                return Err(io::Error::other("cut"));
            }
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    fn disk(room: usize) -> SmallDisk {
        SmallDisk { bytes: Vec::new(), room, fails_to_sync: false, fails_to_cut: false }
    }

    /// Length of a line that holds a one-digit number.
    const LINE: usize = 11;

    #[test]
    fn a_full_disk_leaves_the_last_good_batch() {
        let mut appender = Appender::new(disk(2 * LINE + 5), 0);
        appender.append([1]).unwrap();
        let good = appender.store.bytes.clone();
        assert_eq!(good.len(), LINE);
        assert!(appender.append([2, 3]).is_err());
        assert_eq!(appender.store.bytes, good);
        appender.append([4]).unwrap();
        assert_eq!(appender.store.bytes.len(), 2 * LINE);
    }

    #[test]
    fn a_batch_that_could_not_be_synced_is_taken_back() {
        let mut appender = Appender::new(disk(100), 0);
        appender.store.fails_to_sync = true;
        assert!(appender.append([1]).is_err());
        assert!(appender.store.bytes.is_empty());
    }

    #[test]
    fn long_batch_is_taken_back_in_full() {
        let long = "a".repeat(WRITE_BYTES);
        let mut appender = Appender::new(disk(5 * WRITE_BYTES), 0);
        assert_eq!(appender.append([&long, &long, &long]).unwrap(), 3);
        let good = appender.store.bytes.clone();
        assert!(appender.append([&long, &long]).is_err());
        assert_eq!((appender.store.bytes.len(), appender.length()), (good.len(), good.len() as u64));
        assert!(appender.buffer.capacity() <= 2 * WRITE_BYTES);
        assert_eq!(appender.append([1]).unwrap(), 1);
    }

    #[test]
    fn torn_end_is_cut_before_the_next_batch() {
        let mut appender = Appender::new(disk(LINE + 5), 0);
        appender.append([1]).unwrap();
        appender.store.fails_to_cut = true;
        assert!(appender.append([2]).is_err());
        assert_eq!(appender.store.bytes.len(), LINE + 5);
        assert!(appender.append([3]).is_err());

        appender.store.fails_to_cut = false;
        appender.store.room = 2 * LINE;
        appender.append([4]).unwrap();
        let lines: Vec<&[u8]> = appender.store.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(
            lines.iter().filter_map(|line| line::decode(line, ChecksumSeed::NONE).ok()).collect::<Vec<_>>(),
            [b"1", b"4"]
        );
    }

    #[test]
    fn nothing_to_append_is_no_write() {
        let mut appender = Appender::new(disk(0), 0);
        let nothing: [u8; 0] = [];
        appender.append(nothing).unwrap();
    }
}
