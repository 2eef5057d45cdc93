//! TLS termination and proxies between a client and a server.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// A listener, which stops when dropped.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    /// Number of connections accepted, or opened for clients.
    pub(super) connections: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts encrypted connections for a plain-text server. Returns the CA certificate that signed its certificate, as
/// PEM.
pub(super) async fn encrypted(server: SocketAddr) -> (Listening, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a server");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listening = listen(move |client, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut client = acceptor.accept(client).await?;
            let mut server = TcpStream::connect(server).await?;
            copy_bidirectional(&mut client, &mut server).await.map(drop)
        }
    });
    (listening.await, authority.pem())
}

/// Starts a server that answers a client of TLS without it.
pub(super) async fn without_tls() -> Listening {
    let listening = listen(|mut client, _| async move {
        // A record of TLS begins with its type, its version and its length.
        let mut head = [0; 5];
        client.read_exact(&mut head).await?;
        let [_, _, _, high, low] = head;
        let mut hello = vec![0; usize::from(u16::from_be_bytes([high, low]))];
        client.read_exact(&mut hello).await?;
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await
    });
    listening.await
}

/// Starts a proxy that only creates tunnels.
pub(super) async fn tunnelling() -> Listening {
    listen(|mut client, made| async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
        let Some(target) = target else {
            return client.write_all(b"HTTP/1.1 405 Tunnels Only\r\ncontent-length: 0\r\n\r\n").await;
        };
        let mut server = TcpStream::connect(target).await?;
        made.fetch_add(1, Ordering::SeqCst);
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
        copy_bidirectional(&mut client, &mut server).await.map(drop)
    })
    .await
}

async fn listen<F: Future<Output = std::io::Result<()>> + Send + 'static>(
    serve: impl Fn(TcpStream, Arc<AtomicU64>) -> F + Send + 'static,
) -> Listening {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connections: Arc<AtomicU64> = Arc::default();
    let count = Arc::clone(&connections);
    let task = tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            // A client that disconnects, or rejects the certificate, is not a failure of the server.
            tokio::spawn(serve(client, Arc::clone(&count)));
        }
    });
    Listening { address, connections, task: task.abort_handle() }
}
