//! A connection that fails if its reader takes nothing for a while, so that it does not stay open for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Stream whose writes fail with [`io::ErrorKind::TimedOut`] if none makes progress within a limit.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// Runs while a write waits for the reader.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> WriteTimeout<S> {
        WriteTimeout { stream, limit, timer: None }
    }

    /// Returns a result of the stream, or an error if writes have been pending for too long.
    fn checked<T>(&mut self, context: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.timer = None;
            return result;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.checked(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.checked(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.checked(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.checked(context, closed)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn reader_that_takes_nothing_ends_the_connection() {
        let (stream, mut reader) = duplex(16);
        let mut writer = WriteTimeout::new(stream, LIMIT);
        let began = tokio::time::Instant::now();
        let error = writer.write_all(&[0; 17]).await.expect_err("one byte too many");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= LIMIT, "{:?}", began.elapsed());
        let mut taken = [0; 16];
        reader.read_exact(&mut taken).await.expect("what was written before");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_that_goes_on_is_served_to_the_end() {
        let (stream, mut reader) = duplex(16);
        let mut writer = WriteTimeout::new(stream, LIMIT);
        let read = tokio::spawn(async move {
            let mut taken = [0; 16];
            for _ in 0..8 {
                tokio::time::sleep(LIMIT - Duration::from_secs(1)).await;
                reader.read_exact(&mut taken).await.expect("bytes");
            }
        });
        writer.write_all(&[0; 8 * 16]).await.expect("all of it");
        read.await.expect("no panic");
    }
}
