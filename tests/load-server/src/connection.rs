//! One connection: requests in, answers and faults out.

use crate::{Answer, Handler, Reply, Request, Seen};
use bytes::{Buf as _, Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is longer is not answered.
const MOST_BYTES: usize = 256 << 20;

pub(crate) async fn accept(listener: TcpListener, answer: Arc<Handler>, seen: Arc<Seen>) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
        tokio::spawn(async move {
            // A client that goes away is no failure of the server.
            let _ = serve(stream, &*answer, &seen).await;
        });
    }
}

async fn serve(mut stream: TcpStream, answer: &Handler, seen: &Seen) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = BytesMut::with_capacity(16 * 1024);
    while let Some(request) = read_request(&mut stream, &mut bytes).await? {
        seen.requests.fetch_add(1, Ordering::SeqCst);
        let in_flight = seen.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let goes_on = write_answer(&mut stream, answer(&request)).await;
        seen.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !goes_on? {
            break;
        }
    }
    Ok(())
}

/// The next request; none where the client is done or sends something else.
async fn read_request(stream: &mut TcpStream, bytes: &mut BytesMut) -> std::io::Result<Option<Request>> {
    loop {
        if let Some((mut request, head, length)) = parse(bytes) {
            while bytes.len() < head + length {
                if length > MOST_BYTES || stream.read_buf(bytes).await? == 0 {
                    return Ok(None);
                }
            }
            bytes.advance(head);
            request.body = bytes.split_to(length).freeze();
            return Ok(Some(request));
        }
        if bytes.len() > MOST_BYTES || stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// A request's head, where it is whole: its length, and that of the body.
fn parse(bytes: &[u8]) -> Option<(Request, usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = parsed.parse(bytes).ok()? else { return None };
    let headers: Vec<(String, String)> = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers,
        body: Bytes::new(),
    };
    Some((request, head, length))
}

/// Answers; says whether the connection may go on.
async fn write_answer(stream: &mut TcpStream, answer: Answer) -> std::io::Result<bool> {
    match answer {
        Answer::Reply(reply) => {
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            let mut bytes = head_of(&reply, reply.body.len());
            bytes.extend_from_slice(&reply.body);
            stream.write_all(&bytes).await?;
            Ok(true)
        }
        Answer::Truncated(reply) => {
            let mut bytes = head_of(&reply, reply.body.len() + 1_000);
            bytes.extend_from_slice(&reply.body);
            stream.write_all(&bytes).await?;
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
            // The socket is closed without the end of a stream, which the client sees as a reset.
            stream.set_zero_linger()?;
            Ok(false)
        }
        Answer::Hang => {
            // Whatever comes is of no interest; that the client goes away is.
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

fn head_of(reply: &Reply, length: usize) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Status\r\ncontent-length: {length}\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
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
