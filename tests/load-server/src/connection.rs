//! One connection: requests in, answers and faults out.

use crate::{Answer, Counters, Handler, Reply, Request};
use bytes::BytesMut;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Longer bodies are not answered.
const MAX_BODY_BYTES: usize = 256 << 20;
/// Requests with more headers are not read.
const MAX_HEADERS: usize = 64;

pub(crate) async fn accept(listener: TcpListener, answer: Arc<Handler>, counters: Arc<Counters>) {
    while let Ok((stream, _)) = listener.accept().await {
        counters.connections.fetch_add(1, Ordering::SeqCst);
        let (answer, counters) = (Arc::clone(&answer), Arc::clone(&counters));
        tokio::spawn(async move {
            // A closed connection is not a failure of the server.
            let _ = serve(stream, &*answer, &counters).await;
        });
    }
}

async fn serve(mut stream: TcpStream, answer: &Handler, counters: &Counters) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = BytesMut::with_capacity(16 * 1024);
    let mut surplus = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut bytes).await? {
        stream.write_all(&std::mem::take(&mut surplus)).await?;
        counters.requests.fetch_add(1, Ordering::SeqCst);
        let in_flight = counters.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        counters.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let answer = answer(&request);
        if let Answer::Twice(reply) = &answer {
            surplus = bytes_of(reply, reply.body.len());
        }
        let is_open = write_answer(&mut stream, answer).await;
        counters.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !is_open? {
            break;
        }
    }
    Ok(())
}

/// Returns the next request; `None` if the client closed the connection or sent something else.
async fn read_request(stream: &mut TcpStream, bytes: &mut BytesMut) -> std::io::Result<Option<Request>> {
    loop {
        if let Some((path, head, length)) = parse(bytes) {
            while bytes.len() < head + length {
                if length > MAX_BODY_BYTES || stream.read_buf(bytes).await? == 0 {
                    return Ok(None);
                }
            }
            let head = bytes.split_to(head).freeze();
            return Ok(Some(Request { path, head, body: bytes.split_to(length).freeze() }));
        }
        if bytes.len() > MAX_BODY_BYTES || stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Returns the path of a request, the length of its head, and that of its body; `None` if the head is incomplete.
fn parse(bytes: &[u8]) -> Option<(String, usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = parsed.parse(bytes).ok()? else { return None };
    let length =
        find_header(parsed.headers, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    Some((parsed.path.unwrap_or_default().to_owned(), head, length))
}

/// Returns the value of a header in a complete head.
pub(crate) fn header_of<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    parsed.parse(head).ok()?;
    find_header(parsed.headers, name)
}

fn find_header<'h>(headers: &[httparse::Header<'h>], name: &str) -> Option<&'h str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// Writes an answer. Returns whether the connection stays open.
async fn write_answer(stream: &mut TcpStream, answer: Answer) -> std::io::Result<bool> {
    match answer {
        Answer::Reply(reply) | Answer::Twice(reply) => {
            wait(reply.delay).await;
            stream.write_all(&bytes_of(&reply, reply.body.len())).await?;
            Ok(true)
        }
        Answer::Prepared(bytes, delay) => {
            wait(delay).await;
            stream.write_all(&bytes).await?;
            Ok(true)
        }
        Answer::Truncated(reply) => {
            stream.write_all(&bytes_of(&reply, reply.body.len() + 1_000)).await?;
            Ok(false)
        }
        Answer::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            Ok(false)
        }
        Answer::Chunks { content_type, pieces, breaks_off } => {
            write_chunked_head(stream, content_type).await?;
            for piece in pieces {
                write_chunk(stream, &piece).await?;
            }
            if !breaks_off {
                stream.write_all(b"0\r\n\r\n").await?;
            }
            Ok(!breaks_off)
        }
        Answer::Reset => {
            // The socket is closed without the end of the stream, which the client sees as a reset.
            stream.set_zero_linger()?;
            Ok(false)
        }
        Answer::Hang => {
            // Reads until the client closes the connection.
            while stream.read(&mut [0; 1024]).await? > 0 {}
            Ok(false)
        }
        Answer::Endless => {
            write_chunked_head(stream, "application/json").await?;
            let blanks = [b' '; 64 * 1024];
            loop {
                write_chunk(stream, &blanks).await?;
            }
        }
    }
}

/// Returns the bytes of a reply whose `content-length` may differ from its body.
pub(crate) fn bytes_of(reply: &Reply, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256 + reply.body.len());
    // Writing to memory cannot fail.
    let _ = write!(bytes, "HTTP/1.1 {} Status\r\ncontent-length: {length}\r\n", reply.status);
    for (name, value) in &reply.headers {
        let _ = write!(bytes, "{name}: {value}\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&reply.body);
    bytes
}

async fn wait(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

async fn write_chunked_head(stream: &mut TcpStream, content_type: &str) -> std::io::Result<()> {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await
}

async fn write_chunk(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    let head = format!("{:x}\r\n", piece.len());
    stream.write_all(&[head.as_bytes(), piece, b"\r\n"].concat()).await
}
